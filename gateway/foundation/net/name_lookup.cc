#include "foundation/net/name_lookup.h"

#include <fmt/format.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "foundation/net/handle.h"

namespace lineward::net {

// Receives a look-up's answer. `wake` is null once no caller waits for it.
struct NameLookup::Mailbox {
  std::mutex mutex;
  uv_async_t* wake = nullptr;
  Result<Addresses> answer = Addresses();
  Handle<uv_async_t> handle;  // used on the loop's thread only
};

NameLookup::NameLookup(Loop& loop) : loop_(loop) {}

NameLookup::~NameLookup() {
  if (!mailbox_) return;
  std::lock_guard<std::mutex> lock(mailbox_->mutex);
  mailbox_->wake = nullptr;
  mailbox_->handle.close();
}

Result<Addresses> NameLookup::of_system(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    return fail(fmt::format("the name {} cannot be resolved: {}", host, gai_strerror(error)), true);
  Addresses found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    Address address = make_address(entry->ai_addr, entry->ai_addrlen);
    if (std::find(found.begin(), found.end(), address) == found.end()) found.push_back(std::move(address));
  }
  freeaddrinfo(list);
  if (found.empty()) return fail(fmt::format("the name {} has no address", host), true);
  return found;
}

void NameLookup::start(const std::string& host, uint16_t port, Work work, Answer answer) {
  answer_ = std::move(answer);
  auto mailbox = std::make_shared<Mailbox>();
  int error = mailbox->handle.open(this, [&](uv_async_t* handle) {
    return uv_async_init(loop_.raw(), handle, [](uv_async_t* h) {
      if (h->data != nullptr) static_cast<NameLookup*>(h->data)->taken_out();
    });
  });
  mailbox_ = mailbox;
  if (error == 0) {
    mailbox->wake = mailbox->handle.get();
    // Signals are delivered to the loop's thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([mailbox, host, port, work = std::move(work)] {
        Result<Addresses> found = work(host, port);
        std::lock_guard<std::mutex> lock(mailbox->mutex);
        mailbox->answer = std::move(found);
        if (mailbox->wake != nullptr) uv_async_send(mailbox->wake);
      }).detach();
    } catch (const std::system_error&) {
      error = UV_EAGAIN;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (error == 0) return;
  mailbox->answer = fail(fmt::format("the name {} cannot be looked up: {}", host, uv_strerror(error)), true);
  loop_.defer([this, weak = std::weak_ptr<Mailbox>(mailbox)] {
    if (!weak.expired()) taken_out();  // expired if the look-up was destroyed
  });
}

void NameLookup::taken_out() {
  const auto finished = std::move(mailbox_);
  Result<Addresses> found = Addresses();
  {
    std::lock_guard<std::mutex> lock(finished->mutex);
    finished->wake = nullptr;
    found = std::move(finished->answer);
    finished->handle.close();
  }
  const Answer answer = std::exchange(answer_, nullptr);
  answer(found);
}

}  // namespace lineward::net

#include "net/resolver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <uv.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "net/address_class.h"
#include "net/handle.h"

namespace lineward::net {
namespace {

Address make_address(const sockaddr* from, socklen_t size) {
  Address address;
  std::memcpy(&address.bytes, from, std::min<size_t>(size, sizeof address.bytes));
  char host[INET6_ADDRSTRLEN] = "";
  if (from->sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.bytes);
    inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
    address.text = fmt::format("[{}]:{}", host, ntohs(v6.sin6_port));
  } else {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.bytes);
    inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    address.text = fmt::format("{}:{}", host, ntohs(v4.sin_port));
  }
  return address;
}

// Blocks.
Result<Addresses> system_lookup(const std::string& host, uint16_t port) {
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

Result<Addresses> without_private(Result<Addresses> found, const std::string& host) {
  if (!found) return found;
  std::erase_if(*found, [](const Address& address) {
    return !is_public(reinterpret_cast<const sockaddr&>(address.bytes));
  });
  if (found->empty())
    return fail(fmt::format("{} is not on the public Internet, and the configuration does not name it", host),
                true);
  return found;
}

}  // namespace

// Where a lookup leaves its answer. `wake` is null once nobody waits for it any more.
struct Resolver::Mailbox {
  std::mutex mutex;
  uv_async_t* wake = nullptr;
  Result<Addresses> answer = Addresses();
  Handle<uv_async_t> handle;  // of the loop's thread only
};

Resolver::Resolver(Loop& loop, std::string host, uint16_t port, ResolverOptions options)
    : loop_(loop), host_(std::move(host)), port_(port), options_(std::move(options)) {
  if (!options_.look_up) options_.look_up = system_lookup;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (uv_ip4_addr(host_.c_str(), port, &v4) == 0) {
    known_.push_back(make_address(reinterpret_cast<sockaddr*>(&v4), sizeof v4));
  } else if (uv_ip6_addr(host_.c_str(), port, &v6) == 0) {
    known_.push_back(make_address(reinterpret_cast<sockaddr*>(&v6), sizeof v6));
  }
  literal_ = !known_.empty();
  if (!options_.only_public) return;
  auto found = without_private(known_, host_);
  refused_literal_ = literal_ && !found;
  options_.look_up = [look = std::move(options_.look_up)](const std::string& name, uint16_t at) {
    return without_private(look(name, at), name);
  };
}

Resolver::~Resolver() {
  if (!mailbox_) return;
  std::lock_guard<std::mutex> lock(mailbox_->mutex);
  mailbox_->wake = nullptr;
  mailbox_->handle.close();
}

const Addresses& Resolver::known() const {
  static const Addresses none;
  return (literal_ && !refused_literal_) || loop_.now() < known_until_ ? known_ : none;
}

void Resolver::forget() {
  known_until_ = milliseconds(0);
}

void Resolver::ask(Answer answer) {
  waiting_.push_back(std::move(answer));
  if (!mailbox_) look_up();
}

void Resolver::look_up() {
  auto mailbox = std::make_shared<Mailbox>();
  int error = mailbox->handle.open(this, [&](uv_async_t* handle) {
    return uv_async_init(loop_.raw(), handle, [](uv_async_t* h) {
      auto* self = static_cast<Resolver*>(h->data);
      if (self == nullptr) return;
      auto finished = std::move(self->mailbox_);
      Result<Addresses> answer = Addresses();
      {
        std::lock_guard<std::mutex> lock(finished->mutex);
        finished->wake = nullptr;
        answer = std::move(finished->answer);
        finished->handle.close();
      }
      self->answered(answer);  // may be the end of it
    });
  });
  mailbox_ = mailbox;
  if (error == 0) {
    mailbox->wake = mailbox->handle.get();
    // Signals are for the loop's thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([mailbox, host = host_, port = port_, literal = literal_, refused = refused_literal_,
                   known = known_, look = options_.look_up] {
        Result<Addresses> answer = !literal  ? look(host, port)
                                   : refused ? without_private(known, host)
                                             : Result<Addresses>(known);
        std::lock_guard<std::mutex> lock(mailbox->mutex);
        mailbox->answer = std::move(answer);
        if (mailbox->wake != nullptr) uv_async_send(mailbox->wake);
      }).detach();
    } catch (const std::system_error&) {
      error = UV_EAGAIN;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (error == 0) return;
  mailbox->answer = fail(fmt::format("the name {} cannot be looked up: {}", host_, uv_strerror(error)), true);
  loop_.defer([this, weak = std::weak_ptr<Mailbox>(mailbox)] {
    auto failed = weak.lock();  // gone when the resolver is
    if (!failed) return;
    mailbox_.reset();
    failed->handle.close();
    answered(failed->answer);
  });
}

void Resolver::answered(const Result<Addresses>& answer) {
  if (answer) {
    known_ = *answer;
    known_until_ = loop_.now() + options_.young;
  }
  std::vector<Answer> waiting;
  waiting.swap(waiting_);
  for (auto& one : waiting)
    one(answer);
}

}  // namespace lineward::net

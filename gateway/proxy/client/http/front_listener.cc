#include "proxy/client/http/front_listener.h"

#include <charconv>

#include "foundation/base/user_ids.h"
#include "foundation/log/log.h"

namespace lineward::client {
namespace {

Result<net::SocketFile> file_of(const config::SocketAccess& access) {
  net::SocketFile file;
  const char* end = access.mode.data() + access.mode.size();
  if (!access.mode.empty()) std::from_chars(access.mode.data(), end, file.mode, 8);
  if (!access.owner.empty()) {
    auto id = user_id(access.owner);
    if (!id) return fail("listen.socket.owner: " + id.error().text);
    file.owner = *id;
  }
  if (!access.group.empty()) {
    auto id = group_id(access.group);
    if (!id) return fail("listen.socket.group: " + id.error().text);
    file.group = *id;
  }
  return file;
}

}  // namespace

Status<> FrontListener::open_next(const config::Listen& listen) {
  auto file = file_of(listen.socket);
  if (!file) return Unexpected<Error>{file.error()};
  auto listener = net::Listener::open(loop_, listen.address, accepted_, *file);
  if (!listener) return Unexpected<Error>{listener.error()};
  access_ = listen.socket;
  next_ = std::move(*listener);
  return Done{};
}

Status<> FrontListener::join_next(int socket, std::string address, bool loopback) {
  auto listener = net::Listener::join(loop_, socket, std::move(address), loopback, accepted_);
  if (!listener) return Unexpected<Error>{listener.error()};
  next_ = std::move(*listener);
  return Done{};
}

void FrontListener::move() {
  if (!next_) return;
  if (now_) now_->take_waiting();
  now_ = std::move(next_);
  now_->when_out_of_descriptors(out_of_descriptors_);
}

void FrontListener::use_access(const config::SocketAccess& access) {
  if (!now_ || access == access_) return;
  auto file = file_of(access);
  Status<> changed = file ? now_->change_file(*file) : Status<>(Unexpected<Error>{file.error()});
  if (changed) {
    access_ = access;
  } else {
    log::write(log::Level::error, "listen.access", {{"why", changed.error().text}, {"address", address()}});
  }
}

void FrontListener::drain() {
  if (!now_) return;
  now_->take_waiting();
  now_->close();
}

void FrontListener::close() {
  if (now_) now_->close();
}

}  // namespace lineward::client

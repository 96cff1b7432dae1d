#include "proxy/client/http/front_listener.h"

namespace lineward::client {

Status<> FrontListener::open_next(const std::string& address) {
  auto listener = net::Listener::open(loop_, address, accepted_);
  if (!listener) return Unexpected<Error>{listener.error()};
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

void FrontListener::drain() {
  if (!now_) return;
  now_->take_waiting();
  now_->close();
}

void FrontListener::close() {
  if (now_) now_->close();
}

}  // namespace lineward::client

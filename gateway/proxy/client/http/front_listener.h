// The address that HTTP clients connect to, and the next address while a reload moves it. Connections of both
// are passed to one function.
//
// Owned by the HttpFront. open_next() and join_next() return errors, and change nothing then.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/listener.h"

namespace lineward::client {

class FrontListener {
 public:
  // `out_of_descriptors`: a connection was closed at once because no descriptor was free.
  FrontListener(net::Loop& loop, net::Listener::Accepted accepted, std::function<void()> out_of_descriptors)
      : loop_(loop), accepted_(std::move(accepted)), out_of_descriptors_(std::move(out_of_descriptors)) {}
  FrontListener(const FrontListener&) = delete;
  FrontListener& operator=(const FrontListener&) = delete;

  // Opens an address for new connections; move() closes the previous one, if any.
  Status<> open_next(const config::Listen& listen);
  // The same on the socket that the first worker's front has opened (net::Listener::join).
  Status<> join_next(int socket, std::string address, bool loopback);
  void move();
  // After a reload that stays at its address: the access to a Unix socket (listen.socket).
  void use_access(const config::SocketAccess& access);
  void forget_next() { next_.reset(); }
  // The listener opened last; null: none yet.
  const net::Listener* newest() const { return next_ ? next_.get() : now_.get(); }

  const std::string& address() const { return now_->address(); }
  // Only clients of this machine can connect.
  bool is_loopback() const { return now_ && now_->is_loopback(); }
  // Accepts only connections that already wait in the kernel.
  void drain();
  void close();

 private:
  net::Loop& loop_;
  const net::Listener::Accepted accepted_;
  const std::function<void()> out_of_descriptors_;
  std::unique_ptr<net::Listener> now_;
  std::unique_ptr<net::Listener> next_;
  config::SocketAccess access_;  // of the one that was opened last
};

}  // namespace lineward::client

// The address that HTTP clients connect to, and the next one while a reload moves: whatever is accepted on
// either goes to one function.
//
// Owned by the HttpFront. Errors are told by open_next() and join_next(), and change nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/listener.h"

namespace lineward::client {

class FrontListener {
 public:
  // `out_of_descriptors`: a connection was closed at once, for want of them.
  FrontListener(net::Loop& loop, net::Listener::Accepted accepted, std::function<void()> out_of_descriptors)
      : loop_(loop), accepted_(std::move(accepted)), out_of_descriptors_(std::move(out_of_descriptors)) {}
  FrontListener(const FrontListener&) = delete;
  FrontListener& operator=(const FrontListener&) = delete;

  // Opens an address for new connections; move() closes the one before, if there is one.
  Status<net::ListenFailure> open_next(const std::string& address);
  // The same on the socket that the first worker's front has opened (net::Listener::join).
  Status<net::ListenFailure> join_next(int socket, std::string address, bool loopback);
  void move();
  void forget_next() { next_.reset(); }
  // What was opened last; null: nothing yet.
  const net::Listener* newest() const { return next_ ? next_.get() : now_.get(); }

  const std::string& address() const { return now_->address(); }
  // Only clients of this machine reach it.
  bool is_loopback() const { return now_ && now_->is_loopback(); }
  // No new connections but those that wait in the kernel already.
  void drain();
  void close();

 private:
  net::Loop& loop_;
  const net::Listener::Accepted accepted_;
  const std::function<void()> out_of_descriptors_;
  std::unique_ptr<net::Listener> now_;
  std::unique_ptr<net::Listener> next_;
};

}  // namespace lineward::client

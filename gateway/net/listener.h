// A listening socket: TCP (IPv4, IPv6) or Unix. Hands every accepted connection to one function.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/byte_stream.h"

namespace lineward::net {

struct ListenFailure {
  int error = 0;  // negative errno, e.g. UV_EADDRINUSE
  std::string text;
  bool in_use = false;
  bool not_permitted = false;
};

class Listener {
 public:
  // `peer` is "127.0.0.1:51234", or "unix".
  using Accepted = std::function<void(std::unique_ptr<ByteStream> stream, std::string peer)>;

  // `address` is "host:port", ":port" (all addresses) or "unix:/path"; port 0 picks a free one.
  static Result<std::unique_ptr<Listener>, ListenFailure> open(Loop& loop, const std::string& address,
                                                               Accepted accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // What was bound, with the real port.
  const std::string& address() const { return address_; }
  bool is_loopback() const { return loopback_; }
  // Accepts every connection that waits in the kernel: closing would reset them.
  void take_waiting();
  void close();

 private:
  Listener(Loop& loop, Accepted accepted) : loop_(loop), accepted_(std::move(accepted)) {}
  void on_connection();
  void hand_on(std::unique_ptr<ByteStream> stream);

  Loop& loop_;
  Accepted accepted_;
  Handle<uv_tcp_t> tcp_;
  Handle<uv_pipe_t> pipe_;
  std::string address_;
  std::string unlink_;  // path of a Unix socket to remove
  bool loopback_ = false;
};

}  // namespace lineward::net

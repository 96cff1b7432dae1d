// Tells a service manager how this process is, by one datagram to $NOTIFY_SOCKET for each message
// (sd_notify(3)), without its library. Where nobody listens nothing is told, and nothing fails: a gateway
// must not stop for it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lineward::net {

class ServiceNotifier {
 public:
  // `address`: "/path" or "@abstract"; empty: nobody listens.
  static Result<ServiceNotifier> open(const std::string& address);
  ServiceNotifier() = default;
  ~ServiceNotifier();
  ServiceNotifier(ServiceNotifier&& other) noexcept;
  ServiceNotifier& operator=(ServiceNotifier&& other) noexcept;

  bool is_heard() const { return fd_ >= 0; }

  // What is told once waits up to 50 ms for room; `status` is shown to people, in one line.
  void ready(std::string_view status) const;
  void reloading() const;  // ready() says that it is over
  void stopping(std::string_view status) const;
  // What is told again and again is left out when there is no room.
  void status(std::string_view text) const;
  void alive() const;
  // From now on it may take so much longer.
  void extend_timeout(std::chrono::microseconds more) const;

 private:
  explicit ServiceNotifier(int fd) : fd_(fd) {}
  void send(std::string_view text, int flags) const;

  int fd_ = -1;
};

}  // namespace lineward::net

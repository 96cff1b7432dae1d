// Sends state notifications to a service manager, one datagram to $NOTIFY_SOCKET each (sd_notify(3)), without
// libsystemd. Without a service manager nothing is sent. A failure to send is ignored: the gateway must not
// stop for it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace lineward::net {

class ServiceNotifier {
 public:
  // `address`: "/path" or "@abstract"; empty: no service manager.
  static Result<ServiceNotifier> open(const std::string& address);
  ServiceNotifier() = default;
  ~ServiceNotifier();
  ServiceNotifier(ServiceNotifier&& other) noexcept;
  ServiceNotifier& operator=(ServiceNotifier&& other) noexcept;

  bool is_heard() const { return fd_ >= 0; }

  // Single messages wait up to 50 ms for room; `status` is shown to operators, as one line.
  void ready(std::string_view status) const;
  void reloading() const;  // followed by ready()
  void stopping(std::string_view status) const;
  // Repeated messages are dropped if there is no room.
  void status(std::string_view text) const;
  void alive() const;
  // Extends the service manager's timeout by `more` from now on.
  void extend_timeout(std::chrono::microseconds more) const;

 private:
  explicit ServiceNotifier(int fd) : fd_(fd) {}
  void send(std::string_view text, int flags) const;

  int fd_ = -1;
};

}  // namespace lineward::net

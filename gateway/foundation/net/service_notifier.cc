#include "foundation/net/service_notifier.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace lineward::net {
namespace {

constexpr timeval kRoomComes{0, 50'000};
constexpr size_t kMaxStatus = 300;

std::string status_line(std::string_view text) {
  std::string line = "STATUS=" + std::string(text.substr(0, kMaxStatus));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

}  // namespace

Result<ServiceNotifier> ServiceNotifier::open(const std::string& address) {
  if (address.empty()) return ServiceNotifier();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if ((address[0] != '/' && address[0] != '@') || address.size() < 2)
    return fail("NOTIFY_SOCKET is neither a path nor @name");
  if (address.size() >= sizeof name.sun_path)
    return fail(fmt::format("NOTIFY_SOCKET has {} characters; a socket's name has at most {}", address.size(),
                            sizeof name.sun_path - 1));
  std::memcpy(name.sun_path, address.data(), address.size());
  const bool abstract = address[0] == '@';
  if (abstract) name.sun_path[0] = '\0';
  // The length of an abstract name matters: it has no terminator.
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1));
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail(fmt::format("NOTIFY_SOCKET: {}", std::strerror(errno)));
  ServiceNotifier out(fd);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kRoomComes, sizeof kRoomComes);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), length) != 0)
    return fail(fmt::format("NOTIFY_SOCKET: no process listens there: {}", std::strerror(errno)));
  return out;
}

ServiceNotifier::~ServiceNotifier() {
  if (fd_ >= 0) ::close(fd_);
}

ServiceNotifier::ServiceNotifier(ServiceNotifier&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ServiceNotifier& ServiceNotifier::operator=(ServiceNotifier&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void ServiceNotifier::ready(std::string_view text) const {
  send("READY=1\n" + status_line(text), 0);
}

// The timestamp lets the service manager distinguish this reload from one before its request.
void ServiceNotifier::reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000),
       0);
}

void ServiceNotifier::stopping(std::string_view text) const {
  send("STOPPING=1\n" + status_line(text), 0);
}

void ServiceNotifier::status(std::string_view text) const {
  send(status_line(text), MSG_DONTWAIT);
}

void ServiceNotifier::alive() const {
  send("WATCHDOG=1", MSG_DONTWAIT);
}

void ServiceNotifier::extend_timeout(std::chrono::microseconds more) const {
  send(fmt::format("EXTEND_TIMEOUT_USEC={}", more.count()), MSG_DONTWAIT);
}

void ServiceNotifier::send(std::string_view text, int flags) const {
  if (fd_ < 0) return;
  while (::send(fd_, text.data(), text.size(), flags | MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace lineward::net

#include "operate/mcp_client/line_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace lineward::mcp_client {
namespace {

int milliseconds_until(std::optional<Clock::time_point> until) {
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

}  // namespace

LineLink::~LineLink() {
  close(fd_);
}

Status<> LineLink::send(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(std::string("the gateway does not read any more: ") + std::strerror(errno));
    sent += static_cast<size_t>(n);
  }
  return Done{};
}

std::optional<std::string> LineLink::take_line() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

LineLink::Came LineLink::next(std::string& line, std::optional<Clock::time_point> until) {
  for (;;) {
    if (auto taken = take_line()) {
      line = std::move(*taken);
      return Came::line;
    }
    if (buffer_.size() > kMaxLine) return Came::too_long;
    std::array<pollfd, 2> watched{{{fd_, POLLIN, 0}, {interrupt_, POLLIN, 0}}};
    const int ready = poll(watched.data(), watched.size(), milliseconds_until(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Came::timeout;
    if (watched[1].revents != 0) return Came::interrupt;
    std::array<char, 65536> bytes;
    const ssize_t n = recv(fd_, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Came::end;
    buffer_.append(bytes.data(), static_cast<size_t>(n));
  }
}

void LineLink::end_writes() {
  shutdown(fd_, SHUT_WR);
}

}  // namespace lineward::mcp_client

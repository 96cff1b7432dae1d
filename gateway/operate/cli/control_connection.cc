#include "operate/cli/control_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "operate/admin/control_path.h"

namespace lineward::cli {
namespace {

// A page of the largest lists has some hundred KiB.
constexpr uint64_t kMaxAnswer = 64ull << 20;
// Between attempts to connect to a gateway with a full queue.
constexpr std::chrono::milliseconds kTryAgain{50};

std::string request_text(std::string_view path, std::string_view body, std::string_view headers) {
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", body.empty() ? "GET" : "POST", path, headers);
  if (!body.empty())
    head += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return head + "\r\n" + std::string(body);
}

}  // namespace

ControlConnection::ControlConnection(std::string socket, std::string_view path, std::string_view body,
                                     std::string_view headers)
    : socket_(std::move(socket)),
      to_send_(request_text(path, body, headers)),
      parser_({.body_bytes = kMaxAnswer}) {
  parser_.begin();
  connect();
}

ControlConnection::~ControlConnection() {
  if (fd_ >= 0) close(fd_);
}

pollfd ControlConnection::wants() const {
  return {over() ? -1 : fd_, static_cast<short>(to_send_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
}

void ControlConnection::advance() {
  if (over()) return;
  if (fd_ < 0) connect();
  if (fd_ < 0) return;
  if (!to_send_.empty()) send();
  if (!over()) receive();
}

void ControlConnection::connect() {
  fd_ = admin::connect_unix(socket_);
  if (fd_ >= 0 || errno == EAGAIN || errno == EINTR) return;
  fail(fmt::format("cannot connect to {}: {}", socket_, std::strerror(errno)));
}

void ControlConnection::send() {
  const ssize_t n = ::send(fd_, to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
  if (n >= 0) to_send_.erase(0, static_cast<size_t>(n));
  // Data sent by the peer before it closed may still be read.
  if (n < 0 && errno != EAGAIN && errno != EINTR) to_send_.clear();
}

void ControlConnection::receive() {
  std::array<char, 65536> bytes;
  const ssize_t n = recv(fd_, bytes.data(), bytes.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) {
    parser_.append({bytes.data(), static_cast<size_t>(n)});
  } else {
    parser_.finish();
  }
  parse();
  if (n <= 0 && !over())
    fail(fmt::format("{} {}", socket_, status_ == 0 ? "did not answer as a gateway does" : "has hung up"));
}

void ControlConnection::parse() {
  using Parsed = http::ResponseParser::Next;
  for (;;) {
    switch (parser_.next()) {
      case Parsed::need_more: return;
      case Parsed::head: status_ = parser_.info().status; break;
      case Parsed::body: body_ += parser_.take_body(); break;
      case Parsed::complete: complete_ = true; return;
      case Parsed::failed:
        if (parser_.too_long())
          return fail(fmt::format("{} answers with more than {} MiB", socket_, kMaxAnswer >> 20));
        return fail(socket_ + (status_ == 0 ? " did not answer as a gateway does" : " has hung up"));
    }
  }
}

void ControlConnection::fail(std::string text) {
  fault_ = std::move(text);
}

bool wait_for_any(pollfd* set, size_t count, std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  const bool only_time = std::any_of(set, set + count, [](const pollfd& one) { return one.fd < 0; });
  const auto most = only_time ? std::min(left, kTryAgain) : left;
  poll(set, count, static_cast<int>(std::min<int64_t>(most.count() + 1, 60000)));
  return true;
}

}  // namespace lineward::cli

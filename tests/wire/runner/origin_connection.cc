#include "origin_connection.h"

#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unread.h"
#include "vanish.h"

namespace lineward::wire {

using namespace std::chrono_literals;

OriginConnection::OriginConnection(int fd, int number, bool reading, Hooks hooks)
    : number_(number),
      hooks_(std::move(hooks)),
      fd_(fd),
      wake_fd_(eventfd(0, EFD_CLOEXEC)),
      reading_(reading) {
  int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  reader_ = std::thread([this] { read_loop(); });
}

OriginConnection::~OriginConnection() {
  close(false);
  reader_.join();
  ::close(wake_fd_);
}

void OriginConnection::wake() {
  (void)!eventfd_write(wake_fd_, 1);
}

void OriginConnection::take(std::string& in) {
  for (;;) {
    auto request = take_request(in);
    if (!request) return;
    // RFC 9112 9.3: only after the answer before it was read to its end is the connection free.
    if (!begun_) throw UncleanRequest("a request before the last one was answered");
    if (!whole_) throw UncleanRequest("a request on a connection whose last answer is not complete");
    begun_ = false;
    hooks_.request(std::move(*request));
  }
}

void OriginConnection::read_loop() {
  std::string in;
  bool lost = false;
  for (;;) {
    bool want = reading_ && !lost;
    pollfd fds[] = {{wake_fd_, POLLIN, 0}, {want ? fd_ : -1, POLLIN, 0}};
    poll(fds, 2, -1);
    if (fds[0].revents) {
      eventfd_t count;
      eventfd_read(wake_fd_, &count);
      std::lock_guard lock(mutex_);
      if (order_ != Order::none) {
        linger how{1, 0};
        if (order_ == Order::reset) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &how, sizeof how);
        ::close(fd_);
        fd_ = -1;
        closed_ = true;
        gone_ = true;
        changed_.notify_all();
        return;
      }
    }
    if (!want || !fds[1].revents) continue;
    char bytes[65536];
    ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
    if (n > 0) {
      hooks_.record('<', {bytes, static_cast<size_t>(n)});
      in.append(bytes, static_cast<size_t>(n));
      try {
        take(in);
      } catch (const UncleanRequest& why) {
        hooks_.unclean(why.what());
        lost = true;
      }
      continue;
    }
    hooks_.record('<', n < 0 ? "(reset)" : in.empty() ? "(closed)" : "(closed in the middle of a request)");
    lost = true;
    std::lock_guard lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }
}

bool OriginConnection::send(std::string_view bytes, size_t step, Clock::time_point deadline) {
  hooks_.record('>', step ? fmt::format("({} at a time) {}", step, bytes) : std::string(bytes));
  // A response with an interim status is not yet the answer.
  if (bytes.substr(0, 10) != "HTTP/1.1 1") begun_ = true;
  while (!bytes.empty()) {
    if (hooks_.stopped() || Clock::now() >= deadline) return false;
    {
      std::lock_guard lock(mutex_);
      if (fd_ < 0) return false;
      auto part = step ? bytes.substr(0, step) : bytes;
      ssize_t n = ::send(fd_, part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      if (n < 0) {
        pollfd fd{fd_, POLLOUT, 0};
        poll(&fd, 1, 10);
      }
    }
    if (step) wait_until_read(deadline);
  }
  return true;
}

void OriginConnection::wait_until_read(Clock::time_point deadline) {
  while (!gone_ && !hooks_.stopped() && Clock::now() < deadline) {
    {
      std::lock_guard lock(mutex_);
      if (!has_unread(fd_)) return;
    }
    std::this_thread::sleep_for(100us);
  }
}

void OriginConnection::close(bool reset) {
  std::unique_lock lock(mutex_);
  if (!closed_ && order_ == Order::none) {
    order_ = reset ? Order::reset : Order::close;
    wake();
  }
  changed_.wait(lock, [&] { return closed_; });
}

void OriginConnection::shutdown_write() {
  std::lock_guard lock(mutex_);
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

void OriginConnection::vanish() {
  std::lock_guard lock(mutex_);
  if (fd_ >= 0) wire::vanish(fd_);
}

void OriginConnection::read_on(bool on) {
  reading_ = on;
  wake();
}

bool OriginConnection::wait_gone(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  while (!gone_) {
    if (hooks_.stopped() || Clock::now() >= deadline) return false;
    changed_.wait_until(lock, std::min(deadline, Clock::now() + 50ms));
  }
  return true;
}

}  // namespace lineward::wire

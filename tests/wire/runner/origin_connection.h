// A connection that the gateway made to an HTTP origin: a thread that reads strictly, and writes from
// wherever the script is. Owned by HttpOrigin, which outlives it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "run.h"
#include "strict_request.h"

namespace lineward::wire {

class OriginConnection {
 public:
  // All but `record` are called on the reader's thread.
  struct Hooks {
    std::function<void(StrictRequest)> request;
    std::function<void(const std::string& why)> unclean;
    std::function<void(char direction, std::string_view bytes)> record;
    std::function<bool()> stopped;
  };

  OriginConnection(int fd, int number, bool reading, Hooks hooks);
  ~OriginConnection();
  OriginConnection(const OriginConnection&) = delete;
  OriginConnection& operator=(const OriginConnection&) = delete;

  int number() const { return number_; }
  // False when the gateway did not take it all: it has closed, or `deadline` came. With `step` it goes out in
  // pieces of that size, each read by the gateway before the next.
  bool send(std::string_view bytes, size_t step, Clock::time_point deadline);
  void close(bool reset);  // returns when it is closed
  void shutdown_write();
  void vanish();                               // see vanish.h
  void read_on(bool on);                       // false: bytes stay in the socket
  void over(bool whole) { whole_ = whole; }    // whether the answer under way is complete
  bool wait_gone(Clock::time_point deadline);  // true: the gateway has closed it, or we have
  bool gone() const { return gone_; }

 private:
  void read_loop();
  void take(std::string& in);
  void wait_until_read(Clock::time_point deadline);
  void wake();

  const int number_;
  const Hooks hooks_;
  int fd_, wake_fd_;
  std::mutex mutex_;  // guards the closing of fd_
  std::condition_variable changed_;
  enum class Order { none, close, reset };
  Order order_ = Order::none;
  std::atomic<bool> reading_, gone_{false}, whole_{true}, begun_{true};
  bool closed_ = false;
  std::thread reader_;
};

}  // namespace lineward::wire

// From "the client goes away" to "the server has read the cancel", in a loop. A modern client closes its
// connection; a legacy one posts notifications/cancelled, since its close has no meaning. The stdio server
// writes both times of each call into a file (BENCH_CANCEL_FILE). Prints one line of JSON.
//
//   bench-cancel PORT modern|legacy FILE COUNT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "foundation/json/json_scan.h"
#include "http_answer.h"
#include "requests.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTimeout{3000};
constexpr int kMaxMissed = 3;

// Reads what the server has written; each line is "WORD NONCE NS".
class Journal {
 public:
  explicit Journal(const char* path) : fd_(open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) {}

  std::optional<int64_t> wait(std::string_view word, std::string_view nonce) {
    std::string wanted = fmt::format("{} {} ", word, nonce);
    auto latest = Clock::now() + kTimeout;
    do {
      char chunk[4096];
      for (ssize_t n; (n = read(fd_, chunk, sizeof chunk)) > 0;)
        text_.append(chunk, static_cast<size_t>(n));
      size_t at = text_.find(wanted);
      if (at != std::string::npos && text_.find('\n', at) != std::string::npos) {
        return std::atoll(text_.c_str() + at + wanted.size());
      }
      std::this_thread::sleep_for(milliseconds(1));
    } while (Clock::now() < latest);
    return std::nullopt;
  }

 private:
  int fd_;
  std::string text_;
};

bool send_all(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool read_answer(int fd, HttpAnswer& answer) {
  timeval limit{static_cast<time_t>(20), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  answer.reset();
  char chunk[16384];
  for (ssize_t n; (n = recv(fd, chunk, sizeof chunk, 0)) > 0;) {
    auto state = answer.feed({chunk, static_cast<size_t>(n)});
    if (state != HttpAnswer::State::more) return state == HttpAnswer::State::complete;
  }
  return false;
}

class Probe {
 public:
  Probe(Target target, const char* file) : target_(std::move(target)), journal_(file) {}

  bool set_up() {
    if (target_.era == Era::modern) return true;
    other_ = connect_to(target_.port, true);
    HttpAnswer answer;
    if (other_ < 0 || !send_all(other_, initialize_request(target_, id_++)) || !read_answer(other_, answer))
      return false;
    session_ = answer.session();
    return send_all(other_, notification(target_, session_, "notifications/initialized", "{}")) &&
           read_answer(other_, answer);
  }

  std::optional<double> once() {
    std::string nonce = fmt::format("cancel-{:x}-{}", Clock::now().time_since_epoch().count(), id_);
    int fd = connect_to(target_.port, true);
    if (fd < 0) return std::nullopt;
    int64_t id = id_++;
    send_all(fd, call_request(target_, session_, id, "slow", nonce));
    if (!journal_.wait("started", nonce)) {
      close(fd);
      return std::nullopt;
    }
    std::this_thread::sleep_for(milliseconds(5));  // whatever the start has stirred up has settled
    auto gone = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
    if (target_.era == Era::modern) {
      close(fd);
    } else {
      HttpAnswer answer;
      send_all(other_, notification(target_, session_, "notifications/cancelled",
                                    fmt::format(R"({{"requestId":{}}})", id)));
      read_answer(other_, answer);
    }
    auto read_at = journal_.wait("cancelled", nonce);
    if (target_.era == Era::legacy) close(fd);
    if (!read_at) return std::nullopt;
    return static_cast<double>(*read_at - gone) / 1000.0;
  }

 private:
  Target target_;
  Journal journal_;
  std::string session_;
  int other_ = -1;
  int64_t id_ = 1;
};

int run(const Target& target, const char* file, int count) {
  Probe probe(target, file);
  std::vector<double> times;
  int missed = 0;
  std::string error;
  if (!probe.set_up()) error = "no session";
  for (int i = 0; error.empty() && i < count && missed < kMaxMissed; ++i) {
    if (auto us = probe.once()) {
      times.push_back(*us);
    } else {
      ++missed;
    }
  }
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) {
    return times.empty() ? 0.0
                         : times[std::min(times.size() - 1,
                                          static_cast<size_t>(q * static_cast<double>(times.size())))];
  };
  fmt::print(R"({{"error":{},"cancels":{},"missed":{},"p50_us":{:.1f},"p99_us":{:.1f}}})"
             "\n",
             lineward::json::quote(error), times.size(), missed, quantile(0.5), quantile(0.99));
  return error.empty() ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: bench-cancel PORT modern|legacy FILE COUNT\n");
    return 2;
  }
  bench::Target target;
  target.port = static_cast<uint16_t>(std::atoi(argv[1]));
  target.era = std::string_view(argv[2]) == "legacy" ? bench::Era::legacy : bench::Era::modern;
  return bench::run(target, argv[3], std::clamp(std::atoi(argv[4]), 1, 10000));
}

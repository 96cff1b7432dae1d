// Fan-out: N clients listen (2026-07-28, subscriptions/listen), each on a connection of its own; then
// `change` is called, and again, and each time every client has to be told once. Prints one line of JSON.
//
//   bench-fanout --port P --pid FRONT --marker TEXT [--path /mcp] [--streams N] [--rounds N] [--tool NAME]
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json_scan.h"
#include "process_cost.h"
#include "requests.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
constexpr std::string_view kAcknowledged = "subscriptions/acknowledged";
constexpr std::string_view kChanged = "tools/list_changed";

struct Options {
  Target target;
  pid_t pid = 0;
  std::string marker;
  std::string tool = "change";
  size_t streams = 10000;
  size_t rounds = 20;
};

// What a stream has sent and was not looked at: the end of it may be half of a message.
struct Stream {
  int fd = -1;
  std::string tail;
  uint64_t heard = 0;  // messages of the kind that is waited for
};

class Fanout {
 public:
  explicit Fanout(const Options& options) : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  // In groups, so that no listen queue overflows.
  bool open() {
    streams_.resize(options_.streams);
    for (size_t begin = 0; begin < streams_.size(); begin += 200) {
      size_t end = std::min(streams_.size(), begin + 200);
      for (size_t i = begin; i < end; ++i) {
        Stream& stream = streams_[i];
        stream.fd = connect_to(options_.target.port, false);
        if (stream.fd < 0) return fail("cannot connect");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.fd, &event);
        // Many clients call their listen the same.
        std::string request = plain_request(options_.target, 1, "subscriptions/listen",
                                            R"("notifications":{"toolsListChanged":true},)");
        if (send(stream.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size()))
          return fail("cannot send");
      }
      if (!hear(kAcknowledged, end, 1)) return false;
    }
    for (Stream& stream : streams_)
      stream.heard = 0;
    caller_ = connect_to(options_.target.port, true);
    return caller_ >= 0 || fail("cannot connect");
  }

  // Until every stream was told; milliseconds.
  bool round(uint64_t number, std::vector<double>& times) {
    auto begin = Clock::now();
    std::string request = call_request(options_.target, {}, static_cast<int64_t>(number), options_.tool, "x");
    if (send(caller_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return fail("cannot send");
    if (!hear(kChanged, streams_.size(), number)) return false;
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    std::string answer(8192, '\0');
    return recv(caller_, answer.data(), answer.size(), 0) > 0 || fail("no answer");
  }

  // Nobody was told twice.
  bool exact(uint64_t rounds) {
    for (const Stream& stream : streams_) {
      if (stream.heard != rounds) return fail(fmt::format("a stream was told {} times", stream.heard));
    }
    return true;
  }
  const std::string& error() const { return error_; }

 private:
  bool fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
    return false;
  }

  // Until the first `count` streams have heard `what` so often.
  bool hear(std::string_view what, size_t count, uint64_t often) {
    size_t open = 0;
    for (size_t i = 0; i < count; ++i)
      open += streams_[i].heard < often ? 1 : 0;
    auto latest = Clock::now() + kPatience;
    std::vector<epoll_event> ready(1024);
    while (open > 0) {
      int n = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 1000);
      if (Clock::now() > latest) return fail(fmt::format("{} streams heard nothing", open));
      for (int i = 0; i < n; ++i) {
        Stream& stream = streams_[ready[static_cast<size_t>(i)].data.u64];
        ssize_t got = recv(stream.fd, buffer_.data(), buffer_.size(), 0);
        if (got < 0 && errno == EAGAIN) continue;
        if (got <= 0) return fail("a stream was closed: " + stream.tail.substr(0, 200));
        stream.tail.append(buffer_.data(), static_cast<size_t>(got));
        bool before = stream.heard < often;
        size_t at = 0;
        for (size_t found; (found = stream.tail.find(what, at)) != std::string::npos;
             at = found + what.size())
          ++stream.heard;
        stream.tail.erase(0,
                          std::max(at, stream.tail.size() - std::min(stream.tail.size(), what.size() - 1)));
        if (before && stream.heard >= often) --open;
      }
    }
    return true;
  }

  const Options& options_;
  int epoll_;
  int caller_ = -1;
  std::vector<Stream> streams_;
  std::string buffer_ = std::string(64 * 1024, '\0');
  std::string error_;
};

int run(const Options& options) {
  Fanout fanout(options);
  std::vector<double> times;
  bool ok = fanout.open() && fanout.round(1, times);  // the first one warms up
  times.clear();
  Cost before = cost_of(options.pid, options.marker);
  for (size_t i = 0; ok && i < options.rounds; ++i)
    ok = fanout.round(i + 2, times);
  Cost after = cost_of(options.pid, options.marker);
  ok = ok && fanout.exact(options.rounds + 1);
  std::sort(times.begin(), times.end());
  auto at = [&](double q) {
    return times.empty() ? 0
                         : times[std::min(times.size() - 1,
                                          static_cast<size_t>(q * static_cast<double>(times.size())))];
  };
  fmt::print(
      R"({{"ok":{},"error":{},"streams":{},"rounds":{},"p50_ms":{:.2f},"p99_ms":{:.2f},"front_cpu":{:.4f},"pss_kib":{}}})"
      "\n",
      ok, lineward::json::quote(fanout.error()), options.streams, times.size(), at(0.5), at(0.99),
      after.front_cpu - before.front_cpu, after.front_pss_kib);
  return ok ? 0 : 1;
}

bool parse(int argc, char** argv, Options& out) {
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view name = argv[i];
    std::string value = argv[i + 1];
    if (name == "--marker") {
      out.marker = value;
    } else if (name == "--port") {
      out.target.port = static_cast<uint16_t>(std::atoi(value.c_str()));
    } else if (name == "--pid") {
      out.pid = std::atoi(value.c_str());
    } else if (name == "--path") {
      out.target.path = value;
    } else if (name == "--tool") {
      out.tool = value;
    } else if (name == "--streams") {
      out.streams = static_cast<size_t>(std::clamp<int64_t>(std::atoll(value.c_str()), 1, 100'000));
    } else if (name == "--rounds") {
      out.rounds = static_cast<size_t>(std::clamp<int64_t>(std::atoll(value.c_str()), 1, 10'000));
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && out.target.port != 0 && out.pid > 0 && !out.marker.empty();
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options;
  if (!bench::parse(argc, argv, options)) {
    fmt::print(stderr, "usage: bench-fanout --port P --pid FRONT --marker TEXT [--streams N] [--rounds N]\n");
    return 2;
  }
  return bench::run(options);
}

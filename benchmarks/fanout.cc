// Fan-out: N clients listen (2026-07-28, subscriptions/listen), each on a connection of its own; then
// `change` is called, and again, and each time every client has to be told once. Prints one line of JSON.
//
//   bench-fanout --port P --pid FRONT --marker TEXT [--path /mcp] [--streams N] [--rounds N] [--seconds N]
//                [--tool NAME]
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "foundation/json/json_scan.h"
#include "http_answer.h"
#include "options.h"
#include "process_cost.h"
#include "requests.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{60};   // until a group listens, and until all were told
constexpr std::chrono::seconds kOpening{300};  // until all listen
constexpr std::string_view kAcknowledged = "subscriptions/acknowledged";
constexpr std::string_view kChanged = "tools/list_changed";

struct Plan {
  Front front;
  std::string tool = "change";
  size_t streams = 10000;
  size_t rounds = 20;
  std::chrono::seconds limit{60};  // no round begins after it
};

// `tail`: unread bytes of the stream; they may end in half a message.
struct Stream {
  int fd = -1;
  std::string tail;
  uint64_t heard = 0;  // messages of the kind that is waited for
};

class Fanout {
 public:
  explicit Fanout(const Plan& plan) : plan_(plan), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  // In groups, so that no listen queue overflows.
  bool open() {
    streams_.resize(plan_.streams);
    const auto latest = Clock::now() + kOpening;
    for (size_t begin = 0; begin < streams_.size(); begin += 200) {
      size_t end = std::min(streams_.size(), begin + 200);
      for (size_t i = begin; i < end; ++i) {
        Stream& stream = streams_[i];
        stream.fd = connect_to(plan_.front.target.port, false);
        if (stream.fd < 0) return fail(fmt::format("cannot connect stream {}", i));
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.fd, &event);
        // Many clients call their listen the same.
        std::string request = plain_request(plan_.front.target, 1, "subscriptions/listen",
                                            R"("notifications":{"toolsListChanged":true},)");
        if (send(stream.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size()))
          return fail("cannot send");
      }
      if (!hear(kAcknowledged, end, 1, std::min(latest, Clock::now() + kTimeout))) return false;
    }
    for (Stream& stream : streams_)
      stream.heard = 0;
    caller_ = connect_to(plan_.front.target.port, true);
    const timeval patience{kTimeout.count(), 0};
    return (caller_ >= 0 && setsockopt(caller_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0) ||
           fail("cannot connect");
  }

  // Until every stream was told; milliseconds.
  bool round(uint64_t number, std::vector<double>& times) {
    auto begin = Clock::now();
    const auto id = static_cast<int64_t>(number);
    const std::string nonce = std::to_string(number);
    std::string request = call_request(plan_.front.target, {}, id, plan_.tool, nonce);
    if (send(caller_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return fail("cannot send");
    if (!hear(kChanged, streams_.size(), number, begin + kTimeout)) return false;
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    HttpAnswer answer;
    for (auto state = HttpAnswer::State::more; state != HttpAnswer::State::complete;) {
      ssize_t n = recv(caller_, buffer_.data(), buffer_.size(), 0);
      if (n <= 0) return fail("the call was not answered");
      state = answer.feed({buffer_.data(), static_cast<size_t>(n)});
      if (state == HttpAnswer::State::broken) return fail("broken HTTP answer");
    }
    std::string wrong = answer.check(id, nonce);
    return wrong.empty() || fail("the call: " + wrong);
  }

  // Each stream got each message once.
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
  bool hear(std::string_view what, size_t count, uint64_t often, Clock::time_point latest) {
    size_t open = 0;
    for (size_t i = 0; i < count; ++i)
      open += streams_[i].heard < often ? 1 : 0;
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

  const Plan& plan_;
  int epoll_;
  int caller_ = -1;
  std::vector<Stream> streams_;
  std::string buffer_ = std::string(64 * 1024, '\0');
  std::string error_;
};

int run(const Plan& plan) {
  Fanout fanout(plan);
  std::vector<double> times;
  bool ok = fanout.open() && fanout.round(1, times);  // the first one warms up
  times.clear();
  Cost before = cost_of(plan.front.pid, plan.front.marker);
  const auto latest = Clock::now() + plan.limit;
  while (ok && times.size() < plan.rounds && Clock::now() < latest)
    ok = fanout.round(times.size() + 2, times);
  Cost after = cost_of(plan.front.pid, plan.front.marker);
  ok = ok && fanout.exact(times.size() + 1);
  std::sort(times.begin(), times.end());
  auto at = [&](double q) {
    return times.empty() ? 0
                         : times[std::min(times.size() - 1,
                                          static_cast<size_t>(q * static_cast<double>(times.size())))];
  };
  fmt::print(
      R"({{"ok":{},"error":{},"streams":{},"rounds":{},"p50_ms":{:.2f},"p99_ms":{:.2f},"front_cpu":{:.4f},"pss_kib":{}}})"
      "\n",
      ok, lineward::json::quote(fanout.error()), plan.streams, times.size(), at(0.5), at(0.99),
      after.front_cpu - before.front_cpu, after.front_pss_kib);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options(argc, argv);
  bench::Plan plan;
  options.take("--tool", plan.tool);
  options.take("--streams", plan.streams, 1, 100'000);
  options.take("--rounds", plan.rounds, 1, 10'000);
  options.take("--seconds", plan.limit, 1, 3600);
  if (!plan.front.take_last(options,
                            "bench-fanout --port P --pid FRONT --marker TEXT [--streams N] [--rounds N] …"))
    return 2;
  bench::raise_descriptor_limit();
  return bench::run(plan);
}

// The load: N keep-alive connections, each a client of its own with one call in flight. Every answer is
// checked. Prints one line of JSON; ends with 1 when an answer was wrong or missing.
//
//   bench-load --port P --pid FRONT --marker TEXT [--era modern|legacy] [--path /mcp]
//              [--clients N] [--calls N] [--warmup N] [--seconds N]      (--calls 0 only reads the memory)
//              [--tools N]        asks for the list of tools instead, which has so many (modern)
//              [--paths A,B]      clients take turns with these paths
//              [--names A,B]      they call these tools in turns, instead of "echo"
//              [--progress N]     with a progress token, for which each answer has so many notifications
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
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
using std::chrono::seconds;

// A front that does not answer a single call for this long has failed.
constexpr seconds kStalled{20};
constexpr seconds kSetUp{180};
constexpr int64_t kTick = 100;  // latencies are kept in 100 ns: seven minutes fit into 32 bits

struct Plan {
  Front front;
  std::vector<std::string> paths, names;  // of the clients, in turns; never empty
  int64_t clients = 1;
  int64_t calls = 1000;
  int64_t warmup = 0;
  size_t tools = 0;
  size_t progress = 0;
  seconds limit{60};
};

struct Client {
  enum class Step : uint8_t { fresh, initializing, announcing, ready, calling };
  int fd = -1;
  Step step = Step::fresh;
  HttpAnswer answer;
  std::string session;
  std::string nonce;
  Target target;
  std::string_view tool;
  int64_t id = 0;
  Clock::time_point sent;
};

class Load {
 public:
  explicit Load(const Plan& plan) : plan_(plan), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    seed_ = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
    for (size_t i = 0; i < static_cast<size_t>(plan.clients); ++i) {
      clients_.push_back(std::make_unique<Client>());
      clients_.back()->target = plan.front.target;
      clients_.back()->target.path = plan.paths[i % plan.paths.size()];
      clients_.back()->tool = plan.names[i % plan.names.size()];
    }
  }

  bool set_up() {
    for (auto& client : clients_) {
      if (!connect(*client)) return false;
      if (plan_.front.target.era == Era::modern) {
        client->step = Client::Step::ready;
      } else {
        client->step = Client::Step::initializing;
        transmit(*client, initialize_request(client->target, client->id++));
        ++busy_;
      }
    }
    return turn(Clock::now() + kSetUp);
  }

  // Makes so many calls, or as many as there is time for; false when something went wrong.
  bool drive(int64_t calls, seconds limit) {
    latencies_.clear();
    latencies_.reserve(static_cast<size_t>(calls));
    left_ = calls;
    deadline_ = Clock::now() + limit;
    for (auto& client : clients_)
      next_call(*client);
    bool ok = turn(deadline_ + kStalled);
    left_ = 0;
    return ok;
  }

  std::vector<uint32_t>& latencies() { return latencies_; }
  const std::string& error() const { return error_; }
  bool events() const { return events_; }
  int64_t reconnects() const { return reconnects_; }

 private:
  bool fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
    return false;
  }

  bool connect(Client& client) {
    client.fd = connect_to(plan_.front.target.port, false);
    if (client.fd < 0) return fail("cannot connect");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &client;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event);
    return true;
  }

  void transmit(Client& client, const std::string& bytes) {
    client.answer.reset();
    client.sent = Clock::now();
    // Less than a socket buffer holds, and nothing else is under way.
    ssize_t n = send(client.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(bytes.size())) fail(fmt::format("cannot send: {}", strerror(errno)));
  }

  void next_call(Client& client) {
    if (left_ == 0 || !error_.empty()) return;
    if (Clock::now() > deadline_) {
      left_ = 0;
      return;
    }
    --left_;
    ++busy_;
    client.step = Client::Step::calling;
    if (plan_.tools > 0) return transmit(client, plain_request(client.target, client.id, "tools/list", ""));
    client.nonce = fmt::format("{:x}-{:x}", seed_, ++calls_);
    const std::string token = plan_.progress > 0 ? progress_token(client) : "";
    transmit(client,
             call_request(client.target, client.session, client.id, client.tool, client.nonce, token));
  }

  // Equal tokens in all clients: they are the client's own.
  static std::string progress_token(const Client& client) { return fmt::format("t{}", client.id); }

  // Until no client waits for an answer.
  bool turn(Clock::time_point latest) {
    std::vector<epoll_event> ready(256);
    auto last = Clock::now();
    while (busy_ > 0 && error_.empty()) {
      int n = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 1000);
      auto now = Clock::now();
      if (n > 0) last = now;
      if (now > latest || now - last > (calls_ > 0 ? kStalled : kSetUp)) return fail("no answer in time");
      for (int i = 0; i < n && error_.empty(); ++i)
        on_readable(*static_cast<Client*>(ready[static_cast<size_t>(i)].data.ptr));
    }
    return error_.empty();
  }

  void on_readable(Client& client) {
    ssize_t n = recv(client.fd, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    HttpAnswer::State state =
        n > 0 ? client.answer.feed({buffer_.data(), static_cast<size_t>(n)}) : client.answer.end();
    bool idle = client.step == Client::Step::ready && !client.answer.started();
    if (n <= 0 && !idle && state == HttpAnswer::State::broken) {
      fail("the connection was closed within an answer");
      return;
    }
    if (n > 0 && state == HttpAnswer::State::more) return;
    if (state == HttpAnswer::State::broken && n > 0) {
      fail("broken HTTP answer");
      return;
    }
    if (n <= 0 || !client.answer.keep_alive()) {
      close(client.fd);
      ++reconnects_;
      if (!connect(client) || idle) return;
    }
    on_answer(client);
  }

  void on_answer(Client& client) {
    auto now = Clock::now();
    --busy_;
    switch (client.step) {
      case Client::Step::initializing:
        client.session = client.answer.session();
        if (client.answer.status() != 200 || client.session.empty()) {
          fail(fmt::format("initialize: status {}: {}", client.answer.status(),
                           client.answer.body().substr(0, 300)));
          return;
        }
        client.step = Client::Step::announcing;
        transmit(client, notification(client.target, client.session, "notifications/initialized", "{}"));
        ++busy_;
        return;
      case Client::Step::announcing: client.step = Client::Step::ready; return;
      case Client::Step::calling: break;
      default: fail("an answer that nobody asked for"); return;
    }
    client.step = Client::Step::ready;
    std::string wrong =
        plan_.tools > 0 ? client.answer.check_list(client.id, plan_.tools)
        : plan_.progress > 0
            ? client.answer.check_progress(client.id, client.nonce, progress_token(client), plan_.progress)
            : client.answer.check(client.id, client.nonce);
    ++client.id;
    if (!wrong.empty()) {
      fail(std::move(wrong));
      return;
    }
    events_ = client.answer.events();
    latencies_.push_back(static_cast<uint32_t>(std::chrono::nanoseconds(now - client.sent).count() / kTick));
    client.answer.reset();
    next_call(client);
  }

  const Plan& plan_;
  int epoll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<uint32_t> latencies_;
  std::string buffer_ = std::string(64 * 1024, '\0');
  std::string error_;
  uint64_t seed_ = 0;
  uint64_t calls_ = 0;
  int64_t left_ = 0;
  int64_t busy_ = 0;
  int64_t reconnects_ = 0;
  bool events_ = false;
  Clock::time_point deadline_;
};

double own_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double quantile_us(const std::vector<uint32_t>& sorted, double q) {
  if (sorted.empty()) return 0;
  auto at = static_cast<size_t>(q * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[std::min(at, sorted.size() - 1)]) * kTick / 1000;
}

int run(const Plan& plan) {
  Load load(plan);
  bool ok = true;
  if (plan.calls > 0) ok = load.set_up();
  if (ok && plan.warmup > 0) ok = load.drive(plan.warmup, plan.limit);
  Cost before = cost_of(plan.front.pid, plan.front.marker);
  double own = own_cpu();
  auto start = Clock::now();
  if (ok && plan.calls > 0) ok = load.drive(plan.calls, plan.limit);
  double wall = std::chrono::duration<double>(Clock::now() - start).count();
  own = own_cpu() - own;
  Cost after = cost_of(plan.front.pid, plan.front.marker);
  auto& sorted = load.latencies();
  std::sort(sorted.begin(), sorted.end());
  fmt::print(
      R"({{"ok":{},"error":{},"clients":{},"calls":{},"seconds":{:.4f},"front_cpu":{:.4f},"server_cpu":{:.4f},)"
      R"("load_cpu":{:.2f},"p50_us":{:.1f},"p99_us":{:.1f},"rss_kib":{},"pss_kib":{},"front_processes":{},)"
      R"("server_processes":{},"events":{},"reconnects":{}}})"
      "\n",
      ok, lineward::json::quote(load.error()), plan.clients, sorted.size(), wall,
      after.front_cpu - before.front_cpu, std::max(0.0, after.server_cpu - before.server_cpu), own,
      quantile_us(sorted, 0.5), quantile_us(sorted, 0.99), after.front_rss_kib, after.front_pss_kib,
      after.front_processes, after.server_processes, load.events(), load.reconnects());
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Options options(argc, argv);
  bench::Plan plan;
  options.take("--clients", plan.clients, 1, 1000);
  options.take("--calls", plan.calls, 0, 100'000'000);
  options.take("--warmup", plan.warmup, 0, 100'000'000);
  options.take("--tools", plan.tools, 0, 1'000'000);
  options.take("--progress", plan.progress, 0, 1'000'000);
  options.take("--seconds", plan.limit, 1, 3600);
  std::string paths, names = "echo";
  options.take("--paths", paths);
  options.take("--names", names);
  if (!plan.front.take_last(
          options, "bench-load --port P --pid FRONT --marker TEXT [--era E] [--clients N] [--calls N] …"))
    return 2;
  plan.paths = bench::parts_of(paths.empty() ? plan.front.target.path : paths);
  plan.names = bench::parts_of(names);
  return bench::run(plan);
}

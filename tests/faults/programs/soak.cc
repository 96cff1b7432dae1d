// The soak's load: keep-alive clients with one call each in flight. Some calls are left by closing the
// connection, some run into a limit of theirs, some end the server's process. Every answer must be that of
// its call: a result with its nonce, or an error with its id. A line of JSON after each stretch.
//
//   fault-soak --port P --path /mcp/name --clients N --calls N --stretch N --seed N
//
// Before it begins the next stretch it reads a line from stdin, so that measurements can be made at rest.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "foundation/json/json_member.h"
#include "http_answer.h"
#include "requests.h"

namespace {

using Clock = std::chrono::steady_clock;
using bench::HttpAnswer;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{20000};
constexpr int kPerMille = 1000;
// Figures of a thousand calls.
constexpr int kLeft = 20;
constexpr int kLimited = 5;
constexpr int kKilling = 1;

struct Options {
  bench::Target target;
  int clients = 32;
  int64_t calls = 10000;
  int64_t stretch = 1000;
  uint64_t seed = 1;
};

enum class Kind : uint8_t { echo, left, limited, killing };

struct Client {
  int fd = -1;
  bool busy = false;
  Kind kind = Kind::echo;
  HttpAnswer answer;
  std::string nonce;
  int64_t id = 0;
  Clock::time_point sent;
};

struct Counts {
  int64_t ok = 0, errors = 0, left = 0, wrong = 0, hung = 0;
  std::string first_wrong;
};

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options), random_(options.seed), epoll_(epoll_create1(0)) {
    for (int i = 0; i < options.clients; ++i)
      clients_.push_back(std::make_unique<Client>());
  }

  // False when nothing can go on.
  bool stretch(int64_t calls) {
    left_ = calls;
    for (auto& client : clients_)
      next(*client);
    std::vector<epoll_event> ready(256);
    auto last_look = Clock::now();
    while (busy_ > 0) {
      int n = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), 500);
      for (int i = 0; i < n; ++i)
        on_readable(*static_cast<Client*>(ready[static_cast<size_t>(i)].data.ptr));
      if (Clock::now() - last_look < milliseconds(500)) continue;
      last_look = Clock::now();
      for (auto& client : clients_) {
        if (!client->busy || last_look - client->sent < kPatience) continue;
        ++counts.hung;
        settle(*client, true);
      }
    }
    return counts.wrong == 0;
  }

  void close_all() {
    for (auto& client : clients_) {
      if (client->fd >= 0) close(client->fd);
      client->fd = -1;
    }
  }

  Counts counts;

 private:
  int dice() { return std::uniform_int_distribution<int>(0, kPerMille - 1)(random_); }

  std::string request(const Client& client) const {
    std::string tool = "echo";
    std::string more;
    std::string meta;
    if (client.kind == Kind::left) tool = "hang";
    if (client.kind == Kind::killing) {
      tool = "script";
      more = R"(,"steps":"kill")";
    }
    if (client.kind == Kind::limited) {
      tool = "hang";
      meta = R"(,"io.lineward/timeoutMs":30)";
    }
    std::string body = fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}","arguments":{{"nonce":"{}"{}}},)"
        R"("_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
        R"("io.modelcontextprotocol/clientInfo":{{"name":"soak","version":"1"}},)"
        R"("io.modelcontextprotocol/clientCapabilities":{{}}{}}}}}}})",
        client.id, tool, client.nonce, more, meta);
    return fmt::format(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        "Mcp-Method: tools/call\r\nMcp-Name: {}\r\nContent-Length: {}\r\n\r\n{}",
        options_.target.path, options_.target.port, tool, body.size(), body);
  }

  void next(Client& client) {
    while (left_ > 0 && !client.busy) {
      --left_;
      if (client.fd < 0 && !open(client)) {
        wrong("cannot connect");
        left_ = 0;
        return;
      }
      int roll = dice();
      client.kind = roll < kKilling                      ? Kind::killing
                    : roll < kKilling + kLimited         ? Kind::limited
                    : roll < kKilling + kLimited + kLeft ? Kind::left
                                                         : Kind::echo;
      ++client.id;
      client.nonce = fmt::format("s{:x}", ++minted_);
      client.answer.reset();
      client.sent = Clock::now();
      std::string bytes = request(client);
      if (send(client.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
        drop(client);  // it was closed while it was idle: the call was never made
        ++left_;
        continue;
      }
      if (client.kind == Kind::left) {
        ++counts.left;
        // Some before it is written to the server, some after: at once, or with the next answer's turn.
        if (roll % 2 == 0) usleep(200);
        drop(client);
        continue;
      }
      client.busy = true;
      ++busy_;
    }
  }

  bool open(Client& client) {
    client.fd = bench::connect_to(options_.target.port, false);
    if (client.fd < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &client;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &event) == 0;
  }

  static void drop(Client& client) {
    close(client.fd);
    client.fd = -1;
  }

  void wrong(std::string text) {
    ++counts.wrong;
    if (counts.first_wrong.empty()) counts.first_wrong = std::move(text);
  }

  void settle(Client& client, bool broken) {
    client.busy = false;
    --busy_;
    if (broken || !client.answer.keep_alive()) drop(client);
    next(client);
  }

  void on_readable(Client& client) {
    if (client.fd < 0) return;
    ssize_t n = recv(client.fd, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (!client.busy) {
      drop(client);
      return;
    }
    auto state = n > 0 ? client.answer.feed({buffer_.data(), static_cast<size_t>(n)}) : client.answer.end();
    if (n > 0 && state == HttpAnswer::State::more) return;
    if (state == HttpAnswer::State::broken) {
      wrong(fmt::format("call {} was closed without an answer", client.nonce));
      return settle(client, true);
    }
    judge(client);
    settle(client, n <= 0);
  }

  // An own result, or an error that has its own id: what else would be another's.
  void judge(const Client& client) {
    std::string why = client.answer.check(client.id, client.nonce);
    if (why.empty()) {
      if (client.kind != Kind::echo) wrong("a call that never ends was answered");
      ++counts.ok;
      return;
    }
    auto error = lineward::json::member(client.answer.body(), "error");
    auto id = lineward::json::member(client.answer.body(), "id");
    if (client.answer.status() != 200 || !error || id.value_or("") != std::to_string(client.id)) {
      wrong(std::move(why));
      return;
    }
    ++counts.errors;
  }

  const Options& options_;
  std::mt19937_64 random_;
  int epoll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::string buffer_ = std::string(64 * 1024, '\0');
  int64_t left_ = 0;
  int64_t busy_ = 0;
  uint64_t minted_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--port") options.target.port = static_cast<uint16_t>(std::atoi(value));
    if (name == "--path") options.target.path = value;
    if (name == "--clients") options.clients = std::atoi(value);
    if (name == "--calls") options.calls = std::atoll(value);
    if (name == "--stretch") options.stretch = std::atoll(value);
    if (name == "--seed") options.seed = std::strtoull(value, nullptr, 10);
  }
  Soak soak(options);
  bool good = true;
  for (int64_t done = 0; good && done < options.calls; done += options.stretch) {
    auto begin = Clock::now();
    good = soak.stretch(std::min(options.stretch, options.calls - done));
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const Counts& c = soak.counts;
    fmt::print(R"({{"ok":{},"errors":{},"left":{},"wrong":{},"hung":{},"seconds":{:.3f},"why":{}}})"
               "\n",
               c.ok, c.errors, c.left, c.wrong, c.hung, seconds, lineward::json::quote(c.first_wrong));
    std::fflush(stdout);
    char line[16];
    if (std::fgets(line, sizeof line, stdin) == nullptr) break;
  }
  soak.close_all();
  return good ? 0 : 1;
}

// A stdio MCP server of both eras that misbehaves on command, quickly.
//
//   echo   {nonce, bytes?, progress?}  answers with the nonce (and so many bytes more), behind a progress
//   sleep  {nonce, ms}       answers after that
//   hang   {nonce, late?}    never answers; with `late`, after it was cancelled
//   script {nonce, steps}    does what steps says (steps.h), and answers only if they do
//
// Options: --exit CODE (at once), --stderr TEXT (at start), --late MS (before it answers discover and
// initialize), --ignore-term (lives on after SIGTERM and the end of stdin), --legacy (knows initialize only),
// --hole (is no MCP server: listens on a port without accepting connections, and prints it).
//
// FAULT_JOURNAL names a Unix socket that is told, a line each: start PID, call NONCE, cancel NONCE, listen,
// unlisten.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "foundation/json/json_member.h"
#include "loopback_socket.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "steps.h"

namespace faults {
namespace {

using lineward::mcp::Field;
using lineward::mcp::Message;
using lineward::mcp::MessageKind;
using lineward::mcp::Method;

constexpr std::string_view kInfo = R"({"name":"fault-server","version":"1.0.0"})";
constexpr std::string_view kTools =
    R"([{"name":"echo","inputSchema":{"type":"object"}},{"name":"sleep","inputSchema":{"type":"object"}},)"
    R"({"name":"hang","inputSchema":{"type":"object"}},{"name":"script","inputSchema":{"type":"object"}}])";

struct Options {
  bool legacy = false;
  bool ignore_term = false;
  int late_ms = 0;
};

class Server {
 public:
  explicit Server(const Options& options) : options_(options) {
    if (const char* path = std::getenv("FAULT_JOURNAL")) open_journal(path);
    note("start", std::to_string(getpid()));
    world_.answer = [this](const CallContext& call) {
      answer(call, "");
      flush();
    };
    world_.serve = [this](int ms) { serve(ms); };
  }

  int run() {
    while (!ended_)
      serve(-1);
    flush();
    while (options_.ignore_term)
      pause();
    return 0;
  }

 private:
  void open_journal(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    journal_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(journal_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) journal_ = -1;
  }

  void note(std::string_view what, std::string_view whom) {
    if (journal_ < 0) return;
    std::string line = fmt::format("{} {}\n", what, whom);
    if (send(journal_, line.data(), line.size(), MSG_NOSIGNAL) < 0) journal_ = -1;
  }

  // Handles what comes for so long; -1: until something came, 0: what is there.
  void serve(int ms) {
    handle_lines();  // those that came together with the one that is being served
    const int64_t end = now_ms() + std::max(ms, 0);
    do {
      int64_t wait = ms < 0 ? -1 : std::max<int64_t>(0, end - now_ms());
      for (const auto& [due, call] : sleeping_) {
        int64_t left = std::max<int64_t>(0, due - now_ms());
        wait = wait < 0 ? left : std::min(wait, left);
        break;
      }
      pollfd in{STDIN_FILENO, POLLIN, 0};
      if (!ended_ && poll(&in, 1, static_cast<int>(wait)) > 0) {
        read_input();
      } else if (ended_ && wait > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      }
      wake();
      flush();
    } while (!ended_ && ms > 0 && now_ms() < end);
  }

  void read_input() {
    ssize_t n = read(STDIN_FILENO, chunk_.data(), chunk_.size());
    if (n <= 0) {
      ended_ = true;
      return;
    }
    buffer_.append(chunk_, 0, static_cast<size_t>(n));
    handle_lines();
  }

  void handle_lines() {
    // A step may serve again from within: lines are taken out one by one.
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      on_line(std::move(line));
    }
  }

  void wake() {
    while (!sleeping_.empty() && sleeping_.begin()->first <= now_ms()) {
      CallContext call = std::move(sleeping_.begin()->second);
      sleeping_.erase(sleeping_.begin());
      if (cancelled_.erase(call.raw_id) == 0) answer(call, "");
    }
  }

  void flush() {
    std::string out;
    out.swap(out_);
    write_all(STDOUT_FILENO, out);
  }

  void on_line(std::string line) {
    auto message = Message::parse(std::move(line));
    if (!message) return;
    if (message->kind() == MessageKind::request) return on_request(*message);
    if (lineward::mcp::method_of(message->method()) == Method::cancelled)
      on_cancel(message->raw(Field::params_request_id));
  }

  void on_cancel(std::string_view raw_id) {
    std::string id(raw_id);
    if (listens_.erase(id) > 0) return note("unlisten", id);
    auto call = hanging_.find(id);
    if (call == hanging_.end()) {
      for (const auto& [due, one] : sleeping_) {
        if (one.raw_id != id) continue;
        cancelled_.insert(id);
        note("cancel", one.nonce);
        return;
      }
      return note("cancel", "unknown");
    }
    note("cancel", call->second.first.nonce);
    if (call->second.second) answer(call->second.first, "");
    hanging_.erase(call);
  }

  void result(std::string_view raw_id, std::string_view members, bool modern) {
    fmt::format_to(std::back_inserter(out_), R"({{"jsonrpc":"2.0","id":{},"result":{{{})", raw_id, members);
    if (modern) {
      fmt::format_to(std::back_inserter(out_),
                     R"(,"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{}}})",
                     kInfo);
    }
    out_ += "}}\n";
  }

  void refuse(std::string_view raw_id) {
    fmt::format_to(std::back_inserter(out_),
                   R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}})"
                   "\n",
                   raw_id);
  }

  void answer(const CallContext& call, std::string_view more) {
    result(call.raw_id,
           fmt::format(R"("content":[{{"type":"text","text":"{}"}}{}])", call.nonce,
                       more.empty() ? std::string() : fmt::format(R"(,{{"type":"text","text":"{}"}})", more)),
           !options_.legacy);
  }

  void on_request(const Message& request) {
    std::string_view id = request.raw(Field::id);
    Method method = lineward::mcp::method_of(request.method());
    if (options_.legacy && method == Method::server_discover) return refuse(id);
    if (method == Method::server_discover || method == Method::initialize) serve(options_.late_ms);
    switch (method) {
      case Method::tools_call: return on_tool(request);
      case Method::ping: return result(id, R"("_meta":{})", false);
      case Method::tools_list:
        return result(id, fmt::format(R"("tools":{},"ttlMs":0,"cacheScope":"private")", kTools),
                      !options_.legacy);
      case Method::server_discover:
        return result(
            id,
            R"("supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private")",
            true);
      case Method::initialize:
        return result(id,
                      fmt::format(R"("protocolVersion":{},"capabilities":{{"tools":{{}}}},"serverInfo":{})",
                                  request.raw(Field::params_protocol_version), kInfo),
                      false);
      case Method::subscriptions_listen:
        listens_.insert(std::string(id));
        note("listen", id);
        fmt::format_to(std::back_inserter(out_),
                       R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":)"
                       R"({{"notifications":{},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})"
                       "\n",
                       request.raw(Field::params_notifications), id);
        return;
      default: return refuse(id);
    }
  }

  void on_tool(const Message& request) {
    std::string_view arguments = request.raw(Field::params_arguments);
    auto text = [&](std::string_view name) {
      return lineward::json::string_value(lineward::json::member(arguments, name));
    };
    auto number = [&](std::string_view name) {
      return std::atoi(std::string(lineward::json::member(arguments, name).value_or("0")).c_str());
    };
    CallContext call{std::string(request.raw(Field::id)),
                     std::string(request.raw(Field::meta_progress_token)), text("nonce")};
    note("call", call.nonce);
    const std::string tool = request.text(Field::params_name);
    if (tool == "hang") {
      bool late = lineward::json::member(arguments, "late").value_or("") == "true";
      if (lineward::json::member(arguments, "progress").has_value()) {
        flush();
        run_steps("progress:1", call, world_);
      }
      hanging_.emplace(call.raw_id, std::pair(call, late));
    } else if (tool == "sleep") {
      sleeping_.emplace(now_ms() + number("ms"), call);
    } else if (tool == "script") {
      flush();
      std::string steps = text("steps");
      run_steps(steps, call, world_);
    } else {
      if (lineward::json::member(arguments, "progress").has_value()) {
        flush();
        run_steps("progress:1", call, world_);
      }
      answer(call, std::string(static_cast<size_t>(std::max(0, number("bytes"))), 'x'));
    }
  }

  Options options_;
  World world_;
  int journal_ = -1;
  bool ended_ = false;
  std::string chunk_ = std::string(256 * 1024, '\0');
  std::string buffer_;
  std::string out_;
  std::map<std::string, std::pair<CallContext, bool>, std::less<>> hanging_;  // raw id → call, answers late
  std::multimap<int64_t, CallContext> sleeping_;                              // when it is due
  std::set<std::string> cancelled_;
  std::set<std::string> listens_;
};

// A port with a full queue: a connect to it stays without an answer.
int run_hole() {
  lineward::test::LoopbackSocket hole;
  if (!hole.listens(0)) return 1;
  for (int i = 0; i < 4; ++i) {
    int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (hole.connect_from(one) != 0 && errno != EINPROGRESS) return 1;
  }
  write_all(STDOUT_FILENO, fmt::format("{}\n", hole.port()));
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  faults::Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--hole") return faults::run_hole();
    if (name == "--legacy") options.legacy = true;
    if (name == "--late") options.late_ms = std::atoi(value.c_str());
    if (name == "--stderr") faults::write_all(STDERR_FILENO, value + "\n");
    if (name == "--exit") {
      if (std::getenv("FAULT_JOURNAL") != nullptr) faults::Server announce(options);
      _exit(std::atoi(value.c_str()));
    }
    if (name == "--ignore-term") {
      options.ignore_term = true;
      signal(SIGTERM, SIG_IGN);
    }
  }
  return faults::Server(options).run();
}

// A stdio MCP server that costs next to nothing, so that what is measured is the gateway in front of it. Both
// eras.
//
//   echo   answers at once with the nonce of its arguments
//   slow   never answers; it writes "started NONCE NS" and, when it is cancelled, "cancelled NONCE NS" into
//   the file
//          BENCH_CANCEL_FILE (CLOCK_MONOTONIC, in nanoseconds)
//   change answers at once, after telling every listen that the tools have changed (with BENCH_LISTENS set)
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "foundation/json/json_member.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"

namespace {

using lineward::mcp::Field;
using lineward::mcp::Message;
using lineward::mcp::MessageKind;
using lineward::mcp::Method;

constexpr std::string_view kInfo = R"({"name":"bench-echo","version":"1.0.0"})";
constexpr std::string_view kTools =
    R"([{"name":"echo","inputSchema":{"type":"object","properties":{"nonce":{"type":"string"}}}},)"
    R"({"name":"slow","inputSchema":{"type":"object","properties":{"nonce":{"type":"string"}}}}])";

class Server {
 public:
  Server() {
    if (const char* path = std::getenv("BENCH_CANCEL_FILE")) {
      journal_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
  }

  // All lines that one read brought are answered with one write.
  int run() {
    std::string buffer;
    std::string chunk(256 * 1024, '\0');
    for (;;) {
      ssize_t n = read(STDIN_FILENO, chunk.data(), chunk.size());
      if (n <= 0) return 0;
      buffer.append(chunk, 0, static_cast<size_t>(n));
      size_t begin = 0;
      for (size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
        on_line(buffer.substr(begin, end - begin));
      }
      buffer.erase(0, begin);
      if (!flush()) return 1;
    }
  }

 private:
  bool flush() {
    for (size_t at = 0; at < out_.size();) {
      ssize_t n = write(STDOUT_FILENO, out_.data() + at, out_.size() - at);
      if (n <= 0) return false;
      at += static_cast<size_t>(n);
    }
    out_.clear();
    return true;
  }

  void on_line(std::string line) {
    auto message = Message::parse(std::move(line));
    if (!message) return;
    if (message->kind() == MessageKind::request) return on_request(*message);
    if (lineward::mcp::method_of(message->method()) != Method::cancelled) return;
    auto call = slow_.find(message->raw(Field::params_request_id));
    if (call == slow_.end()) return;
    note("cancelled", call->second);
    slow_.erase(call);
  }

  void note(std::string_view what, std::string_view nonce) {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::string line = fmt::format("{} {} {}\n", what, nonce, std::chrono::nanoseconds(now).count());
    if (journal_ >= 0 && write(journal_, line.data(), line.size()) < 0) _exit(1);
  }

  void result(const Message& request, std::string_view members, bool modern) {
    fmt::format_to(std::back_inserter(out_), R"({{"jsonrpc":"2.0","id":{},"result":{{{})",
                   request.raw(Field::id), members);
    if (modern) {
      fmt::format_to(std::back_inserter(out_),
                     R"(,"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{}}})",
                     kInfo);
    }
    out_ += "}}\n";
  }

  void on_request(const Message& request) {
    bool modern = request.has(Field::meta_protocol_version);
    switch (lineward::mcp::method_of(request.method())) {
      case Method::tools_call: return on_tool(request, modern);
      case Method::ping: return result(request, R"("_meta":{})", false);
      case Method::tools_list:
        return result(request, fmt::format(R"("tools":{},"ttlMs":60000,"cacheScope":"public")", kTools),
                      modern);
      case Method::server_discover:
        return result(
            request,
            fmt::format(
                R"("supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{{}}}}},"ttlMs":60000,"cacheScope":"public")",
                tells_ ? R"("listChanged":true)" : ""),
            true);
      case Method::subscriptions_listen:
        listens_.emplace_back(request.raw(Field::id));
        return notify("subscriptions/acknowledged", R"("notifications":{"toolsListChanged":true},)",
                      listens_.back());
      case Method::initialize:
        return result(request,
                      fmt::format(R"("protocolVersion":{},"capabilities":{{"tools":{{}}}},"serverInfo":{})",
                                  request.raw(Field::params_protocol_version), kInfo),
                      false);
      default:
        fmt::format_to(std::back_inserter(out_),
                       R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}})"
                       "\n",
                       request.raw(Field::id));
    }
  }

  void notify(std::string_view what, std::string_view members, std::string_view listen) {
    fmt::format_to(
        std::back_inserter(out_),
        R"({{"jsonrpc":"2.0","method":"notifications/{}","params":{{{}"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})"
        "\n",
        what, members, listen);
  }

  void on_tool(const Message& request, bool modern) {
    if (request.raw(Field::params_name) == R"("change")") {
      for (const std::string& listen : listens_)
        notify("tools/list_changed", {}, listen);
    }
    auto nonce = lineward::json::member(request.raw(Field::params_arguments), "nonce").value_or(R"("")");
    if (request.raw(Field::params_name) == R"("slow")") {
      std::string text = lineward::json::string_value(nonce);
      slow_.emplace(request.raw(Field::id), text);
      return note("started", text);
    }
    result(request, fmt::format(R"("content":[{{"type":"text","text":{}}}])", nonce), modern);
  }

  int journal_ = -1;
  const bool tells_ = std::getenv("BENCH_LISTENS") != nullptr;
  std::vector<std::string> listens_;  // raw ids
  std::string out_;
  std::map<std::string, std::string, std::less<>> slow_;  // raw id → nonce
};

}  // namespace

int main() {
  return Server().run();
}

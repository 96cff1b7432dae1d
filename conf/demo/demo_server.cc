// A small MCP server on stdio, to try Lineward with: it speaks both eras, answers at once or slowly, reports
// progress and stops when it is cancelled. One thread, one poll loop, no dependencies beyond Lineward's own
// message parser.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <list>
#include <string>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"

namespace {

using lineward::json::quote;
using lineward::mcp::Field;
using lineward::mcp::Message;
using lineward::mcp::MessageKind;
using lineward::mcp::Method;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kServerInfo = R"({"name":"lineward-demo","version":"0.1.0"})";
constexpr std::string_view kCapabilities = R"({"tools":{},"prompts":{},"resources":{}})";

constexpr std::string_view kTools = R"([
{"name":"echo","description":"Gives back what it gets","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}},
{"name":"countdown","description":"Counts down, a step every 200 ms, and reports progress","inputSchema":{"type":"object","properties":{"steps":{"type":"integer","minimum":1,"maximum":600}},"required":["steps"]}},
{"name":"hang","description":"Never answers; for trying out limits and cancellation","inputSchema":{"type":"object","properties":{}}}])";

// A call that takes its time.
struct Slow {
  std::string id;  // raw JSON, as the client wrote them
  std::string token;
  bool modern;
  int step = 0;
  int steps = 0;  // 0: for ever
  Clock::time_point next;
};

class Demo {
 public:
  int run() {
    std::string buffer;
    for (;;) {
      pollfd in{STDIN_FILENO, POLLIN, 0};
      if (poll(&in, 1, wait_ms()) < 0) return 1;
      if (in.revents != 0) {
        char chunk[65536];
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n <= 0) return 0;  // the client closed our input: that is how a stdio server is told to end
        buffer.append(chunk, static_cast<size_t>(n));
        size_t begin = 0;
        for (size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
          on_line(buffer.substr(begin, end - begin));
        }
        buffer.erase(0, begin);
      }
      advance();
    }
  }

 private:
  int wait_ms() const {
    auto soonest = Clock::time_point::max();
    for (const Slow& slow : slow_) {
      if (slow.steps > 0) soonest = std::min(soonest, slow.next);
    }
    if (soonest == Clock::time_point::max()) return -1;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(soonest - Clock::now()).count();
    return left < 0 ? 0 : static_cast<int>(left) + 1;
  }

  void send(const std::string& message) {
    std::string line = message;
    for (char& c : line) {
      if (c == '\n') c = ' ';
    }
    line += '\n';
    for (size_t at = 0; at < line.size();) {
      ssize_t n = write(STDOUT_FILENO, line.data() + at, line.size() - at);
      if (n <= 0) _exit(0);
      at += static_cast<size_t>(n);
    }
  }

  // A result in the form of the era the request came in.
  void result(std::string_view id, bool modern, std::string members, bool cacheable = false) {
    if (modern) {
      if (!members.empty()) members += ',';
      if (cacheable) members += R"("ttlMs":60000,"cacheScope":"public",)";
      members += fmt::format(R"("resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{}}})",
                             kServerInfo);
    }
    send(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{}}}}})", id, members));
  }

  void on_line(std::string line) {
    auto message = Message::parse(std::move(line));
    if (!message) return;
    if (message->kind() == MessageKind::notification) {
      if (message->method() == "notifications/cancelled")
        cancel(std::string(message->raw(Field::params_request_id)));
      return;
    }
    if (message->kind() == MessageKind::request) on_request(*message);
  }

  void on_request(const Message& m) {
    std::string id(m.raw(Field::id));
    bool modern = m.has(Field::meta_protocol_version);
    switch (lineward::mcp::method_of(m.method())) {
      case Method::server_discover:
        return result(id, true,
                      fmt::format(R"("supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{})",
                                  kCapabilities),
                      true);
      case Method::initialize:
        return result(id, false,
                      fmt::format(R"("protocolVersion":{},"capabilities":{},"serverInfo":{})",
                                  m.raw(Field::params_protocol_version), kCapabilities, kServerInfo));
      case Method::ping: return result(id, modern, "");
      case Method::tools_list: return result(id, modern, fmt::format(R"("tools":{})", kTools), true);
      case Method::tools_call: return on_tool(m, id, modern);
      case Method::prompts_list:
        return result(id, modern, R"("prompts":[{"name":"greet","description":"A greeting"}])", true);
      case Method::prompts_get:
        return result(id, modern,
                      R"("messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}])");
      case Method::resources_list:
        return result(id, modern,
                      R"("resources":[{"uri":"demo://readme","name":"readme","mimeType":"text/plain"}])",
                      true);
      case Method::resources_templates_list: return result(id, modern, R"("resourceTemplates":[])", true);
      case Method::resources_read:
        return result(
            id, modern,
            fmt::format(
                R"("contents":[{{"uri":{},"mimeType":"text/plain","text":"This is Lineward's demo server."}}])",
                m.raw(Field::params_uri)),
            true);
      default:
        return send(lineward::mcp::error_message(id, lineward::mcp::kMethodNotFound,
                                                 "Method not found: " + m.method()));
    }
  }

  void on_tool(const Message& m, const std::string& id, bool modern) {
    std::string tool = m.text(Field::params_name);
    std::string_view arguments = m.raw(Field::params_arguments);
    if (tool == "echo") {
      return result(id, modern, fmt::format(R"("content":[{{"type":"text","text":{}}}])", quote(arguments)));
    }
    Slow slow{id, std::string(m.raw(Field::meta_progress_token)), modern, 0,
              0,  Clock::now() + std::chrono::milliseconds(200)};
    if (tool == "countdown") {
      size_t digits = arguments.find_first_of("0123456789");
      slow.steps = digits == std::string_view::npos
                       ? 5
                       : std::min(600, std::max(1, std::atoi(arguments.data() + digits)));
    } else if (tool != "hang") {
      return send(lineward::mcp::error_message(id, lineward::mcp::kInvalidParams, "Unknown tool: " + tool));
    }
    slow_.push_back(std::move(slow));
  }

  void cancel(const std::string& id) {
    slow_.remove_if([&](const Slow& slow) { return slow.id == id; });
    fmt::print(stderr, "cancelled: request {}\n", id);
  }

  void advance() {
    auto now = Clock::now();
    for (auto slow = slow_.begin(); slow != slow_.end();) {
      if (slow->steps == 0 || slow->next > now) {
        ++slow;
        continue;
      }
      ++slow->step;
      slow->next = now + std::chrono::milliseconds(200);
      if (!slow->token.empty()) {
        send(fmt::format(
            R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{},"total":{}}}}})",
            slow->token, slow->step, slow->steps));
      }
      if (slow->step < slow->steps) {
        ++slow;
        continue;
      }
      result(slow->id, slow->modern,
             fmt::format(R"("content":[{{"type":"text","text":"counted {} steps"}}])", slow->steps));
      slow = slow_.erase(slow);
    }
  }

  std::list<Slow> slow_;
};

}  // namespace

int main() {
  return Demo().run();
}

// A Streamable HTTP MCP server that costs next to nothing (2026-07-28), for what stands in front of it: one
// thread, epoll, keep-alive, every answer one write. Its tools answer with the nonce of their arguments, and
//
//   echo     nothing else
//   string   1 MiB of text in one string
//   dense    1 MiB of small values
//   events   1,000 progress notifications before the answer, as a stream
//
//   bench-hop-origin PORT [TOOLS]      on 127.0.0.1; lists so many tools
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/json/json_member.h"
#include "loopback.h"
#include "protocol/http/header_list.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"

namespace {

using lineward::http::equals_ignoring_case;
using lineward::http::trim_white_space;
using lineward::mcp::Field;
using lineward::mcp::Message;
using lineward::mcp::MessageKind;
using lineward::mcp::Method;

constexpr size_t kMaxBytes = 1 << 20;
constexpr std::string_view kMeta =
    R"("resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench-hop","version":"1.0.0"}})";

std::string g_list =
    R"("tools":[{"name":"echo","inputSchema":{"type":"object"}}],"ttlMs":60000,"cacheScope":"public")";

// Tools as servers have them: 300 bytes each.
void list_tools(int count) {
  std::string tools;
  for (int i = 0; i < count; ++i) {
    fmt::format_to(
        std::back_inserter(tools),
        R"({}{{"name":"tool_{}","title":"Tool {}","description":"Looks something up by its key and tells what it found.",)"
        R"("inputSchema":{{"type":"object","properties":{{"key":{{"type":"string","description":"What to look up."}},)"
        R"("limit":{{"type":"integer","minimum":1}}}},"required":["key"]}}}})",
        i == 0 ? "" : ",", i, i);
  }
  g_list = fmt::format(R"("tools":[{}],"ttlMs":60000,"cacheScope":"public")", tools);
}

constexpr size_t kPayload = 1 << 20;
constexpr int kEvents = 1000;

// A single string of base64 characters.
const std::string& one_string() {
  static const std::string text = [] {
    static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out = R"({"type":"image","mimeType":"image/png","data":")";
    for (uint32_t i = 0, x = 1; i < kPayload; ++i, x = x * 1664525 + 1013904223)
      out += kAlphabet[x >> 26];
    return out + "\"}";
  }();
  return text;
}

// Rows as a table of a database gives them.
const std::string& rows() {
  static const std::string text = [] {
    std::string out = R"("structuredContent":{"rows":[)";
    for (int i = 0; out.size() < kPayload; ++i) {
      fmt::format_to(std::back_inserter(out),
                     R"({}{{"id":{},"x":{}.{},"ok":{},"tags":["a{}","b"],"of":null}})", i == 0 ? "" : ",", i,
                     i % 977, i % 10, i % 3 == 0, i % 10);
    }
    return out + "]}";
  }();
  return text;
}

std::string members_for(const Message& request) {
  switch (lineward::mcp::method_of(request.method())) {
    case Method::tools_call: {
      auto nonce = lineward::json::member(request.raw(Field::params_arguments), "nonce").value_or(R"("")");
      const std::string_view tool = request.raw(Field::params_name);
      return fmt::format(R"("content":[{{"type":"text","text":{}}}{}{}]{}{})", nonce,
                         tool == R"("string")" ? "," : "", tool == R"("string")" ? one_string() : "",
                         tool == R"("dense")" ? "," : "", tool == R"("dense")" ? rows() : "");
    }
    case Method::tools_list: return g_list;
    case Method::server_discover:
      return R"("supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public")";
    default: return {};
  }
}

// The answer as the last event of a stream.
void stream(const Message& request, std::string_view answer, std::string& out) {
  std::string body;
  for (int i = 1; i <= kEvents; ++i) {
    fmt::format_to(
        std::back_inserter(body),
        "event: message\ndata: "
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{},"total":{},)"
        R"("message":"step {} of many"}}}})"
        "\n\n",
        request.raw(Field::meta_progress_token), i, kEvents, i);
  }
  fmt::format_to(std::back_inserter(body), "event: message\ndata: {}\n\n", answer);
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "{:x}\r\n{}\r\n0\r\n\r\n",
                 body.size(), body);
}

// The response to one request body.
void answer(std::string body, std::string& out) {
  auto message = Message::parse(std::move(body));
  if (!message) {
    out += "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    return;
  }
  if (message->kind() != MessageKind::request) {
    out += "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    return;
  }
  std::string members = members_for(*message);
  std::string_view id = message->raw(Field::id);
  std::string text =
      members.empty()
          ? fmt::format(
                R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}})", id)
          : fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{},{}}}}})", id, members, kMeta);
  if (message->raw(Field::params_name) == R"("events")") return stream(*message, text, out);
  fmt::format_to(std::back_inserter(out),
                 "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                 members.empty() ? "404 Not Found" : "200 OK", text.size(), text);
}

// Takes the complete requests out of `in`; false: these bytes are no request that we read.
bool take_requests(std::string& in, std::string& out) {
  size_t at = 0;
  for (;;) {
    std::string_view rest = std::string_view(in).substr(at);
    size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos) break;
    size_t length = 0;
    std::string_view lines = rest.substr(0, end);
    for (size_t line_end; !lines.empty(); lines.remove_prefix(std::min(lines.size(), line_end + 2))) {
      line_end = std::min(lines.find("\r\n"), lines.size());
      std::string_view line = lines.substr(0, line_end);
      size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      if (equals_ignoring_case(line.substr(0, colon), "Transfer-Encoding")) return false;
      if (!equals_ignoring_case(line.substr(0, colon), "Content-Length")) continue;
      std::string_view digits = trim_white_space(line.substr(colon + 1));
      std::from_chars(digits.data(), digits.data() + digits.size(), length);
    }
    if (length > kMaxBytes) return false;
    if (rest.size() < end + 4 + length) break;
    answer(std::string(rest.substr(end + 4, length)), out);
    at += end + 4 + length;
  }
  in.erase(0, at);
  return in.size() <= kMaxBytes;
}

bool send_all(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    ssize_t n = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) {  // a long list
      pollfd out{fd, POLLOUT, 0};
      if (poll(&out, 1, 5000) <= 0) return false;
      continue;
    }
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) list_tools(std::atoi(argv[2]));
  int listener = argc == 2 || argc == 3 ? bench::listen_on(static_cast<uint16_t>(std::atoi(argv[1]))) : -1;
  if (listener < 0) {
    fmt::print(stderr, "usage: bench-hop-origin PORT (a free one)\n");
    return 2;
  }
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  bench::watch(epoll, listener);
  std::unordered_map<int, std::string> connections;  // what each has sent of its next request
  std::vector<epoll_event> ready(256);
  std::string buffer(64 * 1024, '\0');
  std::string out;
  for (;;) {
    int n = epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), -1);
    if (n < 0 && errno != EINTR) return 1;
    for (int i = 0; i < n; ++i) {
      int fd = ready[static_cast<size_t>(i)].data.fd;
      if (fd == listener) {
        if (int client = bench::take_connection(epoll, listener); client >= 0) connections[client];
        continue;
      }
      std::string& in = connections[fd];
      ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EAGAIN) continue;
      out.clear();
      bool good = got > 0;
      if (good) {
        in.append(buffer, 0, static_cast<size_t>(got));
        good = take_requests(in, out) && send_all(fd, out);
      }
      if (good) continue;
      connections.erase(fd);
      close(fd);
    }
  }
}

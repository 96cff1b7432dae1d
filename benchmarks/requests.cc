#include "requests.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::string_view kLegacyRevision = "2025-06-18";
constexpr std::string_view kMeta =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{})";

std::string post(const Target& target, std::string_view headers, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\n{}{}Content-Length: {}\r\n\r\n{}",
      target.path, target.port, target.header, headers, body.size(), body);
}

std::string session_headers(std::string_view session) {
  return fmt::format("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: {}\r\n", session, kLegacyRevision);
}

}  // namespace

std::string call_request(const Target& target, std::string_view session, int64_t id, std::string_view tool,
                         std::string_view nonce, std::string_view progress) {
  bool modern = target.era == Era::modern;
  std::string meta(modern ? kMeta : "");
  if (!progress.empty()) meta += fmt::format(R"({}"progressToken":"{}")", meta.empty() ? "" : ",", progress);
  if (!meta.empty()) meta = fmt::format(R"(,"_meta":{{{}}})", meta);
  std::string body = fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}","arguments":{{"nonce":"{}"}}{}}}}})",
      id, tool, nonce, meta);
  if (!modern) return post(target, session_headers(session), body);
  return post(
      target,
      fmt::format("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {}\r\n", tool),
      body);
}

std::string plain_request(const Target& target, int64_t id, std::string_view method,
                          std::string_view members) {
  return post(target, fmt::format("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {}\r\n", method),
              fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{}"_meta":{{{}}}}}}})", id,
                          method, members, kMeta));
}

std::string initialize_request(const Target& target, int64_t id) {
  return post(
      target, "",
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"initialize","params":{{"protocolVersion":"{}",)"
                  R"("capabilities":{{}},"clientInfo":{{"name":"bench","version":"1.0.0"}}}}}})",
                  id, kLegacyRevision));
}

std::string notification(const Target& target, std::string_view session, std::string_view method,
                         std::string_view params) {
  return post(target, session_headers(session),
              fmt::format(R"({{"jsonrpc":"2.0","method":"{}","params":{}}})", method, params));
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int connect_to(uint16_t port, bool blocking) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!blocking) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace bench

#include "cli/control_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "admin/control_path.h"
#include "config/reader/admin.h"
#include "log/printable.h"

namespace lineward::cli {
namespace {

// Longer than a cancel is waited for.
constexpr timeval kTimeout{40, 0};
constexpr size_t kMaxBytes = 64 << 20;

// What is shown on a terminal does not depend on who wrote it.
void make_printable(nlohmann::json& value) {
  if (value.is_string()) {
    value = printable(value.get_ref<const std::string&>(), std::string::npos);
  } else if (value.is_structured()) {
    for (nlohmann::json& element : value)
      make_printable(element);
  }
}

// A report on a configuration has lines, with a picture of the place; all else stands in a line.
void make_reply_printable(nlohmann::json& body) {
  std::string report;
  auto found = body.find("report");
  const bool reported = found != body.end() && found->is_string();
  if (reported) report = terminal_text(found->get_ref<const std::string&>());
  make_printable(body);
  if (reported) body["report"] = std::move(report);
}

}  // namespace

Result<ControlReply> ask(const std::string& socket, const std::string& path, const std::string& body) {
  int fd = admin::connect_unix(socket);
  if (fd < 0) return fail(fmt::format("cannot connect to {}: {}", socket, std::strerror(errno)));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
  std::string request = body.empty()
                            ? fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
                            : fmt::format(
                                  "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                  "Content-Length: {}\r\n\r\n{}",
                                  path, body.size(), body);
  std::string response;
  bool whole = false;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 65536> bytes;
    for (ssize_t n; response.size() < kMaxBytes && (n = recv(fd, bytes.data(), bytes.size(), 0)) >= 0;) {
      whole = n == 0;
      if (whole) break;
      response.append(bytes.data(), static_cast<size_t>(n));
    }
  }
  int error = errno;
  close(fd);
  size_t end = response.find("\r\n\r\n");
  if (!whole || end == std::string::npos || response.rfind("HTTP/1.1 ", 0) != 0) {
    bool late = !whole && (error == EAGAIN || error == EWOULDBLOCK);
    return fail(
        fmt::format("{} {}", socket, late ? "did not answer in time" : "did not answer as a gateway does"));
  }
  ControlReply reply;
  std::from_chars(response.data() + 9, response.data() + end, reply.status);
  reply.body = nlohmann::json::parse(response.substr(end + 4), nullptr, false);
  if (!reply.body.is_object()) return fail(socket + " did not answer as a gateway does");
  make_reply_printable(reply.body);
  return reply;
}

Found find_gateway(const std::string& address) {
  Found found;
  // One that is on TCP too has its socket where all have it.
  const bool tcp = config::is_tcp_address(address);
  if (address.empty() || address == "auto" || tcp) {
    std::vector<std::string> all = admin::live_sockets();
    if (all.size() == 1) {
      found.socket = all[0];
    } else {
      found.several = std::move(all);
    }
    return found;
  }
  if (address.rfind("unix:/", 0) == 0) {
    found.socket = address.substr(5);
  } else if (address[0] == '/') {
    found.socket = address;
  } else {
    found.fault = "--admin: write unix:/path/of/its.sock";
  }
  return found;
}

}  // namespace lineward::cli

#include "operate/cli/healthcheck.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstring>

#include "config/duration.h"
#include "config/options/names.h"
#include "config/options/read_value.h"

namespace lineward::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHealthcheckHelp = "lineward healthcheck --help";
constexpr std::string_view kDefaultAddress = "127.0.0.1:9464";
constexpr size_t kMaxProbeAnswer = 64 * 1024;
constexpr const char* kHealthFooter =
    "Ends with 0 when the gateway is ready, with 1 when it says that it is not, with 69 when no gateway "
    "answers.\n"
    "\n"
    "Examples\n"
    "  lineward healthcheck\n"
    "  lineward healthcheck --live --ops 127.0.0.1:9000\n"
    "  HEALTHCHECK CMD [\"/lineward\", \"healthcheck\"]";

struct Socket {
  int fd = -1;
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

// Waits for `what`; false when the time is over.
bool wait_for(int fd, short what, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, what, 0};
    const int found = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

bool connected(int fd, const sockaddr* address, socklen_t size, Clock::time_point until) {
  if (connect(fd, address, size) == 0) return true;
  if (errno != EINPROGRESS && errno != EINTR) return false;
  if (!wait_for(fd, POLLOUT, until)) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

// -1 and errno if the connection fails.
int connect_to(const std::string& address, Clock::time_point until) {
  if (address.rfind("unix:", 0) == 0) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    const std::string name = address.substr(5);
    if (name.size() >= sizeof path.sun_path) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(path.sun_path, name.data(), name.size());
    Socket socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (socket.fd < 0 || !connected(socket.fd, reinterpret_cast<sockaddr*>(&path), sizeof path, until))
      return -1;
    return std::exchange(socket.fd, -1);
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    errno = EINVAL;
    return -1;
  }
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  // The address at which a listener on every interface is reachable.
  if (host.empty() || host == "0.0.0.0" || host == "*" || host == "::") host = "127.0.0.1";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* all = nullptr;
  if (getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &all) != 0) {
    errno = EHOSTUNREACH;
    return -1;
  }
  int fd = -1;
  for (const addrinfo* one = all; one != nullptr && fd < 0; one = one->ai_next) {
    Socket socket{::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (socket.fd >= 0 && connected(socket.fd, one->ai_addr, one->ai_addrlen, until))
      fd = std::exchange(socket.fd, -1);
  }
  const int error = errno;
  freeaddrinfo(all);
  errno = error;
  return fd;
}

// The whole answer; empty if there is none in time.
std::string answer_of(int fd, std::string_view path, Clock::time_point until) {
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
  if (!wait_for(fd, POLLOUT, until) ||
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return {};
  std::string answer;
  std::array<char, 4096> bytes;
  while (answer.size() < kMaxProbeAnswer && wait_for(fd, POLLIN, until)) {
    const ssize_t n = recv(fd, bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return answer;
    answer.append(bytes.data(), static_cast<size_t>(n));
  }
  return answer;
}

std::string address_of(const HealthcheckFlags& flags, const CommandContext& around) {
  if (!flags.ops.empty()) return flags.ops;
  std::optional<std::string> named = around.env ? around.env("LINEWARD_OPS_ADDRESS") : std::nullopt;
  return named && !named->empty() ? *named : std::string(kDefaultAddress);
}

}  // namespace

void add_healthcheck(CLI::App& app, HealthcheckFlags& flags) {
  CLI::App* command = app.add_subcommand("healthcheck", "Asks a running gateway whether it is ready.");
  command->add_option("--ops", flags.ops, "Its probes: 127.0.0.1:9464 (default), :9464, unix:/path")
      ->type_name("ADDR");
  command->add_option("--timeout", flags.timeout, "How long it may take to answer (5s)")->type_name("DUR");
  command->add_flag("--live", flags.live,
                    "Only whether its event loop turns, not whether its servers are ready");
  command->footer(kHealthFooter);
}

ExitCode healthcheck(const HealthcheckFlags& flags, const CommandContext& around) {
  const auto timeout = config::parse_duration(flags.timeout);
  if (!timeout) return bad_usage(around.err, "--timeout: " + timeout.error().text, kHealthcheckHelp);
  const std::string address = address_of(flags, around);
  if (address == "off")
    return bad_usage(around.err, "the ops listener is off: no address to ask", kHealthcheckHelp);
  if (const std::string_view fault = config::socket_fault(address); !fault.empty())
    return bad_usage(around.err, fmt::format("'{}' is no address: {}", config::clip(address), fault),
                     kHealthcheckHelp);
  const auto until = Clock::now() + *timeout;
  const Socket socket{connect_to(address, until)};
  if (socket.fd < 0) {
    around.err << fmt::format(
        "error: no gateway answers at {}: {}\n  fix    name its ops listener: --ops ADDR, or "
        "LINEWARD_OPS_ADDRESS\n",
        config::clip(address), std::strerror(errno));
    return ExitCode::unavailable;
  }
  const std::string answer = answer_of(socket.fd, flags.live ? "/livez" : "/readyz", until);
  int status = 0;
  if (answer.rfind("HTTP/1.1 ", 0) == 0 && answer.size() > 12)
    std::from_chars(answer.data() + 9, answer.data() + 12, status);
  if (status == 0) {
    around.err << fmt::format("error: {} did not answer within {} as a gateway does\n", config::clip(address),
                              flags.timeout);
    return ExitCode::unavailable;
  }
  const size_t head = answer.find("\r\n\r\n");
  std::string said = head == std::string::npos ? std::string() : answer.substr(head + 4);
  if (status == 200) {
    around.out << (flags.live ? "live\n" : "ready\n");
    return ExitCode::ok;
  }
  if (said.empty() || said.back() != '\n') said += '\n';
  around.err << said;
  return ExitCode::failure;
}

}  // namespace lineward::cli

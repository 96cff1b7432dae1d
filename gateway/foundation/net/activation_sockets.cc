#include "foundation/net/activation_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "foundation/net/service_variables.h"
#include "foundation/net/socket_address.h"

namespace lineward::net {
namespace {

constexpr size_t kMaxName = 100;  // characters repeated in a message

std::optional<int> as_number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < ActivationSockets::kMost) {
    const size_t colon = std::min(text.find(':'), text.size());
    out.emplace_back(text.substr(0, std::min(colon, kMaxName)));
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return out;
}

bool has_option(int fd, int option, int wanted) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

}  // namespace

ActivationSockets::~ActivationSockets() {
  for (const Socket& one : sockets_)
    ::close(one.fd);
}

Result<ActivationSockets::Socket> ActivationSockets::look_at(int fd, std::string name) {
  const std::string called = name.empty() ? "" : fmt::format(" ({})", name);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
    return fail(fmt::format("LISTEN_FDS names descriptor {}{}, which is not open", fd, called));
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return fail(fmt::format("descriptor {}{} from LISTEN_FDS is no socket", fd, called));
  if (!has_option(fd, SO_TYPE, SOCK_STREAM) || !has_option(fd, SO_ACCEPTCONN, 1))
    return fail(
        fmt::format("descriptor {}{} from LISTEN_FDS does not listen for connections; the socket unit needs "
                    "ListenStream= and Accept=no",
                    fd, called));
  if (bound.ss_family == AF_INET || bound.ss_family == AF_INET6)
    return Socket{fd, describe(bound), std::move(name), is_loopback_address(bound), false};
  const auto& path = reinterpret_cast<const sockaddr_un&>(bound);
  const size_t most = length > offsetof(sockaddr_un, sun_path) ? length - offsetof(sockaddr_un, sun_path) : 0;
  if (bound.ss_family != AF_UNIX || most == 0 || path.sun_path[0] == '\0')
    return fail(fmt::format("descriptor {}{} from LISTEN_FDS is neither TCP nor a Unix socket with a path",
                            fd, called));
  return Socket{fd, "unix:" + std::string(path.sun_path, strnlen(path.sun_path, most)), std::move(name), true,
                false};
}

Status<> ActivationSockets::adopt(const ServiceVariables& variables, int first) {
  if (variables.listen_fds.empty() || as_number(variables.listen_pid) != getpid()) return Done{};
  const auto count = as_number(variables.listen_fds);
  if (!count) return fail("LISTEN_FDS is no number");
  if (*count > kMost)
    return fail(fmt::format("LISTEN_FDS is {}; at most {} sockets are taken", *count, kMost));
  std::vector<std::string> names = split_names(variables.listen_fdnames);
  names.resize(static_cast<size_t>(*count));
  for (int k = 0; k < *count; ++k) {
    auto socket = look_at(first + k, std::move(names[static_cast<size_t>(k)]));
    if (!socket) return Unexpected<Error>{socket.error()};
    sockets_.push_back(std::move(*socket));
  }
  return Done{};
}

std::optional<ActivationSockets::Given> ActivationSockets::take(const std::string& address) {
  if (sockets_.empty()) return std::nullopt;
  std::string wanted = address;
  std::string also = address;
  sockaddr_storage parsed{};
  if (address.rfind("unix:", 0) != 0) {
    if (!parse_address(address, parsed)) return std::nullopt;
    wanted = describe(parsed);
    // The address that a socket unit uses for a bare port.
    also = address.front() == ':' || address.front() == '*'
               ? fmt::format("[::]{}", wanted.substr(wanted.rfind(':')))
               : wanted;
  }
  for (Socket& one : sockets_) {
    if (one.address != wanted && one.address != also) continue;
    const int copy = fcntl(one.fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) return std::nullopt;
    one.taken = true;
    return Given{copy, one.address, one.loopback};
  }
  return std::nullopt;
}

std::vector<std::string> ActivationSockets::untaken() const {
  std::vector<std::string> out;
  for (const Socket& one : sockets_) {
    if (!one.taken)
      out.push_back(one.name.empty() ? one.address : fmt::format("{} ({})", one.address, one.name));
  }
  return out;
}

ActivationSockets& activation_sockets() {
  static ActivationSockets sockets;
  return sockets;
}

}  // namespace lineward::net

#include "operate/doctor/checks.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "foundation/base/freed.h"
#include "foundation/log/sanitize.h"
#include "foundation/net/socket_address.h"
#include "foundation/process/spawn_wire.h"

namespace lineward::doctor {
namespace {

using process::spawning::OwnedFd;

// A process needs three pipes, and exiting ones still hold theirs.
constexpr uint64_t kDescriptorsOfProcess = 8;
constexpr uint64_t kOwnDescriptors = 64;
constexpr uint64_t kMostRaised = 65536;  // the gateway raises its soft limit up to this

struct Address {
  std::string host, port;
};

Address split(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

// The inode of the socket listening on that port, from /proc/net/tcp; empty if unknown.
std::string listening_inode(uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      const size_t colon = local.rfind(':');
      if (state != "0A" || colon == std::string::npos) continue;
      uint16_t its = 0;
      std::from_chars(local.data() + colon + 1, local.data() + local.size(), its, 16);
      if (its == port) return inode;
    }
  }
  return {};
}

// "pid 3911 (node)"
std::string called(const std::string& pid) {
  std::string name;
  std::ifstream comm("/proc/" + pid + "/comm");
  std::getline(comm, name);
  return fmt::format("pid {} ({})", pid, sanitize(name, 40));
}

// The same for the process that has the port; empty if it belongs to another user.
std::string holder_of(uint16_t port) {
  const std::string inode = listening_inode(port);
  if (inode.empty()) return {};
  const std::string wanted = "socket:[" + inode + "]";
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const std::string pid = process.path().filename().string();
    if (pid.empty() || pid[0] < '0' || pid[0] > '9') continue;
    std::error_code hidden;
    for (const auto& fd : std::filesystem::directory_iterator(process.path() / "fd", hidden)) {
      std::error_code gone;
      if (std::filesystem::read_symlink(fd.path(), gone).string() != wanted) continue;
      return called(pid);
    }
  }
  return {};
}

void tell_taken(const std::string& option, const std::string& address, const RunningGateway* gateway,
                const std::string& holder, const std::string& another, Findings& findings) {
  const std::string check = option.substr(0, option.find('.'));
  if (gateway != nullptr) {
    return findings.error(
        check,
        fmt::format("another Lineward (pid {}) listens on {} already", gateway->pid, sanitize(address)),
        fmt::format("lineward reload gives that one a new configuration; or kill {}, or another {}",
                    gateway->pid, option));
  }
  findings.error(check,
                 fmt::format("{} is in use{}", sanitize(address), holder.empty() ? "" : " by " + holder),
                 fmt::format("stop that, or choose another {}: {}", option, another));
}

const RunningGateway* gateway_if(const std::vector<RunningGateway>& gateways,
                                 const std::function<bool(const RunningGateway&)>& is_it) {
  auto found = std::find_if(gateways.begin(), gateways.end(), is_it);
  return found == gateways.end() ? nullptr : &*found;
}

void tell_taken_port(const std::string& option, const std::string& address,
                     const std::vector<RunningGateway>& gateways, Findings& findings) {
  const Address wanted = split(address);
  uint16_t port = 0;
  std::from_chars(wanted.port.data(), wanted.port.data() + wanted.port.size(), port);
  tell_taken(option, address,
             gateway_if(gateways, [&](const auto& one) { return split(one.address).port == wanted.port; }),
             holder_of(port), fmt::format("127.0.0.1:{}", port + 10), findings);
}

// Checks for a listener by connecting: a socket file without one is replaced, as the gateway does.
void check_socket(const std::string& option, const std::string& address,
                  const std::vector<RunningGateway>& gateways, Findings& findings) {
  const std::string check = option.substr(0, option.find('.'));
  const std::string path = address.substr(5);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty() && access(folder.c_str(), W_OK | X_OK) != 0) {
    return findings.error(check,
                          fmt::format("a socket cannot be made in {}: {}", sanitize(folder), strerror(errno)),
                          "make that directory, or choose another " + option);
  }
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return findings.error(check,
                          fmt::format("{} is longer than the path of a socket may be", sanitize(address)),
                          "use a shorter path");
  }
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return findings.ok(check, sanitize(address) + " is free");
  if (!S_ISSOCK(there.st_mode)) {
    return findings.error(check, fmt::format("{} is there, and no socket", sanitize(path)),
                          "remove it, or choose another " + option);
  }
  const OwnedFd socket(net::connect_unix(path));
  const bool connected = socket.open();
  if (!connected && errno == ECONNREFUSED)
    return findings.ok(check, sanitize(address) + " is free: the process that left it has ended");
  ucred holder{};
  socklen_t size = sizeof holder;
  const bool known =
      connected && getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0 && holder.pid > 0;
  tell_taken(
      option, address,
      gateway_if(gateways,
                 [&](const auto& one) { return one.address == address || (known && one.pid == holder.pid); }),
      known ? called(std::to_string(holder.pid)) : std::string(), "another path", findings);
}

// Tests the address by binding it for a moment.
void check_address(const std::string& option, const std::string& address,
                   const std::vector<RunningGateway>& gateways, Findings& findings) {
  const std::string check = option.substr(0, option.find('.'));
  if (address == "off" || address == "stdio" || address == "auto") return;
  if (address.rfind("unix:", 0) == 0) return check_socket(option, address, gateways, findings);
  const Address parts = split(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const std::string host = parts.host == "localhost" ? "127.0.0.1" : parts.host;
  if (getaddrinfo(host.empty() || host == "*" ? nullptr : host.c_str(), parts.port.c_str(), &hints, &found) !=
      0)
    return;
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> all(found);
  const OwnedFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 && listen(socket.get(), 1) == 0)
    return findings.ok(check, sanitize(address) + " is free");
  switch (errno) {
    case EADDRINUSE: return tell_taken_port(option, address, gateways, findings);
    case EACCES:
      return findings.error(check, fmt::format("{} may not be listened on", sanitize(address)),
                            "a port from 1024 on, or AmbientCapabilities=CAP_NET_BIND_SERVICE in its unit");
    case EADDRNOTAVAIL:
      return findings.error(check, fmt::format("{} is no address of this machine", sanitize(address)),
                            "ip address lists them; 0.0.0.0 is all");
    default:
      return findings.error(check,
                            fmt::format("{} cannot be listened on: {}", sanitize(address), strerror(errno)),
                            "choose another " + option);
  }
}

void check_descriptors(const config::Config& config, Findings& findings) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  uint64_t processes = 0;
  for (const config::Server& server : config.servers)
    processes += server.disabled || !server.url.empty() ? 0 : server.instances;
  const uint64_t have = std::min<uint64_t>(limit.rlim_max, kMostRaised);
  uint64_t connections = config.listen.max_connections;
  for (const config::FurtherListen& one : config.listeners)
    connections += one.listen.max_connections;
  const uint64_t wanted = kOwnDescriptors + connections + processes * kDescriptorsOfProcess;
  if (have >= wanted)
    return findings.ok("descriptors", fmt::format("{} may be open, {} are needed at most", have, wanted));
  findings.warning("descriptors",
                   fmt::format("{} may be open, and {} connections with {} processes need up to {}", have,
                               connections, processes, wanted),
                   fmt::format("LimitNOFILE={} in its unit, ulimit -n {}, or a lower listen.maxConnections",
                               wanted, wanted));
}

}  // namespace

void check_machine(const config::Config& config, const std::vector<RunningGateway>& gateways,
                   Findings& findings) {
  check_descriptors(config, findings);
  check_address("listen.address", config.listen.address, gateways, findings);
  for (const config::FurtherListen& one : config.listeners)
    check_address("listeners." + one.name + ".address", one.listen.address, gateways, findings);
  // A conflict on the default ops port is only a warning: the other process keeps it.
  Findings ops("machine");
  check_address("ops.address", config.ops.address, gateways, config.ops.given ? findings : ops);
  for (const Finding& one : ops.all()) {
    if (one.status == CheckStatus::ok) {
      findings.ok(one.check, one.text);
    } else {
      findings.warning(one.check, one.text + ": probes and metrics would be off", one.fix);
    }
  }
  if (config.admin.address != "auto")
    check_address("admin.address", config.admin.address, gateways, findings);
}

}  // namespace lineward::doctor

// Listening sockets that a service manager has opened and passes on (socket activation, sd_listen_fds(3)).
//
// They are found by their addresses, never by their order: what the configuration says is what is served, and
// a socket that it does not name is an error of whoever wrote the two (untaken()). The descriptors stay open
// for as long as the process lives, as the service manager's own do, so that a reload can leave an address
// and come back to it.
//
// Used by the first worker's thread alone: the others join its listeners.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::net {

struct ServiceVariables;

class ActivationSockets {
 public:
  static constexpr int kFirst = 3;  // by the protocol
  static constexpr int kMost = 64;

  ActivationSockets() = default;
  ~ActivationSockets();
  ActivationSockets(const ActivationSockets&) = delete;
  ActivationSockets& operator=(const ActivationSockets&) = delete;

  // Looks at what the variables promise, and keeps it from child processes; nothing when they are another
  // process's.
  Status<> adopt(const ServiceVariables& variables, int first = kFirst);

  struct Given {
    int fd;               // a copy, the caller's
    std::string address;  // "127.0.0.1:8000" or "unix:/path"
    bool loopback;
  };
  // The socket at an address as Listener::open() takes it; ":port" is also one on all IPv6 addresses.
  std::optional<Given> take(const std::string& address);
  // "0.0.0.0:8000 (lineward.socket)", of those that nobody has taken.
  std::vector<std::string> untaken() const;

 private:
  struct Socket {
    int fd;
    std::string address;
    std::string name;  // as LISTEN_FDNAMES has it
    bool loopback;
    bool taken;
  };
  static Result<Socket> look_at(int fd, std::string name);

  std::vector<Socket> sockets_;
};

// Those of this process.
ActivationSockets& activation_sockets();

}  // namespace lineward::net

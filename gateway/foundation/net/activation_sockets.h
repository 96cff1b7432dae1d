// Listening sockets opened and passed on by a service manager (socket activation, sd_listen_fds(3)).
//
// Sockets are found by address, never by order. The configuration decides which addresses are served; a
// socket it does not name is a configuration error (untaken()). The descriptors stay open while the process
// lives, as the service manager's own do, so that a reload can drop an address and take it again.
//
// Used by the first worker's thread only: the other workers join its listeners.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::net {

struct ServiceVariables;

class ActivationSockets {
 public:
  static constexpr int kFirst = 3;  // fixed by the protocol
  static constexpr int kMost = 64;

  ActivationSockets() = default;
  ~ActivationSockets();
  ActivationSockets(const ActivationSockets&) = delete;
  ActivationSockets& operator=(const ActivationSockets&) = delete;

  // Adopts the sockets announced in the variables, and hides them from child processes. Adopts none if the
  // variables are another process's.
  Status<> adopt(const ServiceVariables& variables, int first = kFirst);

  struct Given {
    int fd;               // a copy; the caller owns it
    std::string address;  // "127.0.0.1:8000" or "unix:/path"
    bool loopback;
  };
  // The socket at an address as Listener::open() takes it; ":port" also matches a socket on all IPv6
  // addresses.
  std::optional<Given> take(const std::string& address);
  // Sockets not taken, as "0.0.0.0:8000 (lineward.socket)".
  std::vector<std::string> untaken() const;

 private:
  struct Socket {
    int fd;
    std::string address;
    std::string name;  // from LISTEN_FDNAMES
    bool loopback;
    bool taken;
  };
  static Result<Socket> look_at(int fd, std::string name);

  std::vector<Socket> sockets_;
};

// This process's sockets.
ActivationSockets& activation_sockets();

}  // namespace lineward::net

// A listening socket: TCP (IPv4, IPv6) or Unix. Passes every accepted connection to one function.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "foundation/base/result.h"
#include "foundation/net/byte_stream.h"

namespace lineward::net {

// Access to a Unix socket: the mode, user and group of its file.
struct SocketFile {
  mode_t mode = 0600;
  std::optional<uid_t> owner = {};  // empty: as it is
  std::optional<gid_t> group = {};
};

class Listener {
 public:
  // `peer` is "127.0.0.1:51234", or "unix".
  using Accepted = std::function<void(std::unique_ptr<ByteStream> stream, std::string peer)>;

  // `address` is "host:port", ":port" (all addresses, IPv6 too if the machine has it) or "unix:/path"; port 0
  // picks a free port. The error has the errno. A socket of a service manager at this address is used instead
  // (activation_sockets.h). `file`: of a Unix socket that is made here; no client connects before it is so.
  static Result<std::unique_ptr<Listener>> open(Loop& loop, const std::string& address, Accepted accepted,
                                                const SocketFile& file = {});
  // Accepts from the same socket on another loop and thread. Takes ownership of `fd` from share() (closed on
  // failure too); `address` is that listener's address().
  static Result<std::unique_ptr<Listener>> join(Loop& loop, int fd, std::string address, bool loopback,
                                                Accepted accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The bound address, with the real port.
  const std::string& address() const { return address_; }
  bool is_loopback() const { return loopback_; }
  // Changes the file of a Unix socket that open() has made; does nothing for others.
  Status<> change_file(const SocketFile& file);
  // Whether the Unix socket that open() has made is still reached by its name; true for others.
  bool has_its_file() const;
  // A descriptor of the same socket, or -1.
  int share() const;
  // Accepts all connections waiting in the kernel: closing would reset them.
  void take_waiting();
  void close();
  // Afterwards, connections are closed at once when few descriptors are left, and this is called for each.
  // Requests under way need descriptors to reach and start servers.
  void when_out_of_descriptors(std::function<void()> told) { out_of_descriptors_ = std::move(told); }

 private:
  Listener(Loop& loop, Accepted accepted) : loop_(loop), accepted_(std::move(accepted)) {}
  static void on_connection(uv_stream_t* handle, int status);
  // 0, or a negative errno; nothing is open then.
  int listen_at(const sockaddr_storage& address);
  void on_connection();
  void hand_on(std::unique_ptr<ByteStream> stream);
  bool leaves_enough(const ByteStream& stream) const;

  Loop& loop_;
  Accepted accepted_;
  std::function<void()> out_of_descriptors_;
  [[maybe_unused]] int highest_ = 0;  // descriptors from here on leave too few
  Handle<uv_tcp_t> tcp_;
  Handle<uv_pipe_t> pipe_;
  std::string address_;
  std::string unlink_;              // path of a Unix socket to remove
  std::pair<dev_t, ino_t> made_{};  // the file that was made there; another process may have made its own
  bool loopback_ = false;
};

}  // namespace lineward::net

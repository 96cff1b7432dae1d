// Sockets of tests and their programs on 127.0.0.1.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace lineward::test {

// A socket that has a port there, and does not listen yet. The caller closes it.
struct LoopbackSocket {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};

  // Port 0: a free one.
  bool take(uint16_t port = 0) {
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    return bind(fd, name(), size) == 0 && getsockname(fd, name(), &size) == 0;
  }
  bool listens(int backlog, uint16_t at = 0) { return take(at) && listen(fd, backlog) == 0; }
  uint16_t port() const { return ntohs(address.sin_port); }
  // Another socket goes there.
  int connect_from(int other) { return connect(other, name(), sizeof address); }

 private:
  sockaddr* name() { return reinterpret_cast<sockaddr*>(&address); }
};

}  // namespace lineward::test

// growth-pipe SOCKET: a stdio server that another process controls. It passes its stdin to a Unix socket and
// what comes from there to its stdout, and ends when either side does. So the test plays any number of
// processes, word by word, at a page of memory each.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace {

std::array<char, 65536> buffer;

// Says whether there may be more.
bool pass_on(int from, int to) {
  const auto count = ::read(from, buffer.data(), buffer.size());
  if (count <= 0) {
    return false;
  }
  for (ssize_t done = 0; done < count;) {
    const auto now = ::write(to, buffer.data() + done, static_cast<std::size_t>(count - done));
    if (now < 0) {
      return false;
    }
    done += now;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (argc < 2 || std::strlen(argv[1]) >= sizeof address.sun_path) {
    std::fputs("usage: growth-pipe SOCKET\n", stderr);
    return 2;
  }
  std::strcpy(address.sun_path, argv[1]);
  const auto socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    std::perror("growth-pipe");
    return 1;
  }
  // Neither side writes without reading for long here, so one direction at a time is enough.
  for (;;) {
    std::array<pollfd, 2> ends{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{socket, POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), -1) < 0) {
      return 1;
    }
    if ((ends[0].revents != 0 && !pass_on(STDIN_FILENO, socket)) ||
        (ends[1].revents != 0 && !pass_on(socket, STDOUT_FILENO))) {
      return 0;
    }
  }
}

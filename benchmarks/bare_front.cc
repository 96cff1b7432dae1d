// The floor: what moving the bytes alone costs, with none of a gateway's work. Request bodies go to one stdio
// server as lines, its lines come back as HTTP responses in the order of the requests (the echo server keeps
// it). There are no checks and no limits, and ids are not kept apart: for comparing only.
//
//   bench-bare-front PORT COMMAND [ARGS]      on 127.0.0.1
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "loopback.h"

namespace {

struct Connection {
  std::string in;
  std::string out;
};

struct Front {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int listener = -1;
  int to_server = -1;
  int from_server = -1;
  std::unordered_map<int, Connection> connections;
  std::deque<int> waiting;  // the next answers go to these
  std::string lines;        // to the server
  std::string partial;      // of the server's next line
  std::vector<int> touched;
  std::string buffer = std::string(64 * 1024, '\0');

  bool listen_on(uint16_t port) {
    listener = bench::listen_on(port);
    bench::watch(epoll, listener);
    return listener >= 0;
  }

  bool start(char** command) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return false;
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execvp(command[0], command);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_server = in[1];
    from_server = out[0];
    bench::watch(epoll, from_server);
    return true;
  }

  void on_client(int fd) {
    ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      connections.erase(fd);
      close(fd);
      return;
    }
    std::string& in = connections[fd].in;
    in.append(buffer, 0, static_cast<size_t>(n));
    size_t head = in.find("\r\n\r\n");
    if (head == std::string::npos) return;
    size_t at = in.find("Content-Length: ");
    size_t length = at < head ? std::strtoul(in.c_str() + at + 16, nullptr, 10) : 0;
    if (in.size() < head + 4 + length) return;
    if (length == 0) {  // nothing for the server: a look whether we are there
      constexpr std::string_view kNothing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
      if (send(fd, kNothing.data(), kNothing.size(), MSG_NOSIGNAL) < 0) return;
    } else {
      lines.append(in, head + 4, length);
      lines += '\n';
      waiting.push_back(fd);
    }
    in.erase(0, head + 4 + length);
  }

  bool on_server() {
    ssize_t n = read(from_server, buffer.data(), buffer.size());
    if (n <= 0) return false;
    partial.append(buffer, 0, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end; (end = partial.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (waiting.empty()) continue;
      auto found = connections.find(waiting.front());
      if (found != connections.end()) {
        std::string& out = found->second.out;
        out += "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
        out += std::to_string(end - begin);
        out += "\r\n\r\n";
        out.append(partial, begin, end - begin);
        touched.push_back(waiting.front());
      }
      waiting.pop_front();
    }
    partial.erase(0, begin);
    return true;
  }

  int run() {
    std::vector<epoll_event> ready(256);
    for (;;) {
      int n = epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < n; ++i) {
        int fd = ready[static_cast<size_t>(i)].data.fd;
        if (fd == listener) {
          if (int client = bench::take_connection(epoll, listener); client >= 0) connections[client];
        } else if (fd == from_server) {
          if (!on_server()) return 0;
        } else {
          on_client(fd);
        }
      }
      for (int fd : touched) {
        std::string& out = connections[fd].out;
        if (send(fd, out.data(), out.size(), MSG_NOSIGNAL) < 0) return 1;
        out.clear();
      }
      touched.clear();
      if (lines.empty()) continue;
      if (write(to_server, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) return 1;
      lines.clear();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Front front;
  if (argc < 3 || !front.listen_on(static_cast<uint16_t>(std::atoi(argv[1]))) || !front.start(argv + 2)) {
    fmt::print(stderr, "usage: bench-bare-front PORT COMMAND [ARGS] (a free port)\n");
    return 2;
  }
  return front.run();
}

// The floor: what moving the bytes alone costs, with none of a gateway's work. Request bodies go to one stdio
// server as lines, its lines come back as HTTP responses in the order of the requests (the echo server keeps
// it). Nothing is checked, nothing is limited, ids are not kept apart: for comparing only.
//
//   bench-bare-front PORT COMMAND [ARGS]      on 127.0.0.1
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

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
  std::deque<int> waiting;  // whose answer comes next
  std::string lines;        // to the server
  std::string partial;      // of the server's next line
  std::vector<int> touched;
  std::string buffer = std::string(64 * 1024, '\0');

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }

  bool listen_on(uint16_t port) {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    watch(listener);
    return bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
           listen(listener, 1024) == 0;
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
    watch(from_server);
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
          int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
          if (client < 0) continue;
          int on = 1;
          setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          connections[client];
          watch(client);
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

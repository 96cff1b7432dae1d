// A tiny gateway that proves the runner, never users' traffic: modern clients, one stdio child behind a probe
// sibling, a thread per connection. `--bug NAME` makes it wrong in one way, so that a script must fail.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "json_raw.h"
#include "loopback_socket.h"

namespace {

using lineward::wire::find_raw;

const char* const meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                         R"("io.modelcontextprotocol/clientCapabilities":{}})";
std::string bug;
volatile sig_atomic_t term = 0;

void put(int fd, const std::string& bytes) {
  (void)!write(fd, bytes.data(), bytes.size());
}

// A started command with its two pipes.
struct Process {
  pid_t pid = -1;
  int in = -1, out = -1;
};

Process spawn(const std::vector<std::string>& argv) {
  std::vector<char*> args;
  for (const auto& a : argv)
    args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) _exit(1);
  pid_t pid = fork();
  if (pid == 0) {
    if (bug != "orphan") prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], 0);
    dup2(out[1], 1);
    execvp(args[0], args.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  return {pid, in[1], out[0]};
}

bool read_line(int fd, std::string& buffer, std::string& line) {
  for (size_t end;;) {
    if ((end = buffer.find('\n')) != std::string::npos) {
      line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return true;
    }
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n <= 0) return false;
    buffer.append(bytes, static_cast<size_t>(n));
  }
}

std::string replace_value(const std::string& json, const lineward::wire::Path& path, const std::string& by) {
  auto old = find_raw(json, path);
  if (!old) return json;
  return json.substr(0, static_cast<size_t>(old->data() - json.data())) + by +
         json.substr(static_cast<size_t>(old->data() - json.data()) + old->size());
}

class Gateway {
 public:
  explicit Gateway(std::vector<std::string> argv) : argv_(std::move(argv)) {
    auto sibling = spawn(argv_);
    std::string buffer, line;
    put(sibling.in,
        std::string(R"({"jsonrpc":"2.0","id":0,"method":"server/discover","params":{)") + meta + "}}\n");
    read_line(sibling.out, buffer, line);
    close(sibling.in);
    waitpid(sibling.pid, nullptr, 0);
    child_ = spawn(argv_);
    std::thread([this] { read_child(); }).detach();
  }

  void serve(int fd) {
    std::string in;
    while (auto body = read_request(fd, in)) {
      auto client_id = find_raw(*body, {"id"});
      if (!client_id) {
        put(fd, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
        continue;
      }
      if (!exchange(fd, *body, std::string(*client_id))) break;
    }
    close(fd);
  }

  void end() {
    if (bug == "orphan") return;
    close(child_.in);
    waitpid(child_.pid, nullptr, 0);
  }

 private:
  struct Call {
    std::string client_id, token;
    std::deque<std::string> messages;
  };

  static std::optional<std::string> read_request(int fd, std::string& in) {
    size_t end;
    auto more = [&] {
      char bytes[4096];
      ssize_t n = read(fd, bytes, sizeof bytes);
      if (n > 0) in.append(bytes, static_cast<size_t>(n));
      return n > 0;
    };
    while ((end = in.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return std::nullopt;
    }
    auto at = in.find("Content-Length: ");
    size_t length = at < end ? static_cast<size_t>(atol(in.c_str() + at + 16)) : 0;
    while (in.size() < end + 4 + length) {
      if (!more()) return std::nullopt;
    }
    auto body = in.substr(end + 4, length);
    in.erase(0, end + 4 + length);
    return body;
  }

  void read_child() {
    std::string buffer, line;
    while (read_line(child_.out, buffer, line)) {
      auto id = find_raw(line, {"id"});
      auto token = find_raw(line, {"params", "progressToken"});
      auto key = id ? id : token;
      if (!key) continue;
      std::lock_guard lock(mutex_);
      auto call = calls_.find(atol(std::string(*key).c_str()));
      if (call == calls_.end()) continue;
      call->second.messages.push_back(
          id ? replace_value(line, {"id"}, answer_id(call->second.client_id))
             : replace_value(line, {"params", "progressToken"}, call->second.token));
      changed_.notify_all();
    }
  }

  static std::string answer_id(const std::string& id) {
    return bug == "number-ids" ? std::to_string(atol(id.c_str())) : id;
  }

  // False when the client is gone.
  bool exchange(int fd, const std::string& body, const std::string& client_id) {
    long id;
    {
      std::lock_guard lock(mutex_);
      id = ++last_;
      auto token = find_raw(body, {"params", "_meta", "progressToken"});
      calls_[id] = {client_id, token ? std::string(*token) : "", {}};
      auto text = replace_value(body, {"id"}, std::to_string(id));
      put(child_.in, replace_value(text, {"params", "_meta", "progressToken"}, std::to_string(id)) + "\n");
    }
    bool stream = false, alive = true;
    std::string reason = "ok";
    for (bool done = false; !done;) {
      std::string message;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(5));
        auto& waiting = calls_[id].messages;
        if (!waiting.empty()) {
          message = waiting.front();
          waiting.pop_front();
        }
      }
      if (message.empty()) {
        pollfd p{fd, POLLRDHUP, 0};
        if (poll(&p, 1, 0) > 0) {
          auto cancel =
              fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},)"
                          R"("reason":"the client closed its connection",{}}}}})",
                          id, meta);
          put(child_.in, cancel + "\n");
          if (bug == "cancel-twice") put(child_.in, cancel + "\n");
          reason = "cancelled_client";
          alive = false;
          done = true;
        }
        continue;
      }
      done = find_raw(message, {"id"}).has_value();
      if (!done && !stream) {
        put(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
        stream = true;
      }
      if (stream) {
        auto event = ": still here\n\nevent: message\ndata: " + message + "\n\n";
        put(fd, fmt::format("{:x}\r\n{}\r\n{}", event.size(), event, done ? "0\r\n\r\n" : ""));
      } else {
        put(fd,
            fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                        message.size(), message));
      }
    }
    std::lock_guard lock(mutex_);
    calls_.erase(id);
    fmt::print(stderr, "level=info event=call.end id={} reason={}\n", id, reason);
    return alive;
  }

  std::vector<std::string> argv_;
  Process child_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<long, Call> calls_;
  long last_ = 100;
};

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = [](int) { term = 1; };
  sigaction(SIGTERM, &action, nullptr);
  std::vector<std::string> command;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--bug" && i + 1 < argc) bug = argv[++i];
    if (word == "--") {
      command.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  if (command.empty()) return 2;
  auto* gateway = new Gateway(command);  // its threads use it to the end
  lineward::test::LoopbackSocket listener;
  if (!listener.listens(16)) return 1;
  fmt::print(stderr, "MCP http://127.0.0.1:{}/mcp\n", listener.port());
  while (!term) {
    pollfd p{listener.fd, POLLIN, 0};
    if (poll(&p, 1, 50) <= 0) continue;
    int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    std::thread([gateway, fd] { gateway->serve(fd); }).detach();
  }
  gateway->end();
  _exit(0);
}

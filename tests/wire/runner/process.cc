#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace lineward::wire {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool write_frame(int fd, FrameKind kind, std::string_view payload) {
  auto size = static_cast<uint32_t>(payload.size());
  std::string bytes(1, static_cast<char>(kind));
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes.append(payload);
  return write_all(fd, bytes);
}

std::optional<Frame> cut_frame(std::string& buffer) {
  uint32_t size = 0;
  if (buffer.size() < 1 + sizeof size) return std::nullopt;
  memcpy(&size, buffer.data() + 1, sizeof size);
  if (buffer.size() < 1 + sizeof size + size) return std::nullopt;
  Frame frame{static_cast<FrameKind>(buffer[0]), buffer.substr(1 + sizeof size, size)};
  buffer.erase(0, 1 + sizeof size + size);
  return frame;
}

Child start_process(const std::vector<std::string>& argv, const std::vector<std::string>& extra_env,
                    bool pipe_in, std::string_view withheld) {
  // Everything that allocates happens before fork: other threads may hold locks.
  std::vector<char*> args, env;
  args.reserve(argv.size() + 1);
  for (const auto& a : argv)
    args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  for (char** e = environ; *e; ++e) {
    const std::string_view one = *e;
    if (withheld.empty() || one.substr(0, one.find('=')) != withheld) env.push_back(*e);
  }
  for (const auto& e : extra_env)
    env.push_back(const_cast<char*>(e.c_str()));
  env.push_back(nullptr);

  int out[2], err[2], in[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || (pipe_in && pipe2(in, O_CLOEXEC)))
    throw std::runtime_error("pipe failed");
  pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDONLY);
    dup2(pipe_in ? in[0] : null, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    signal(SIGPIPE, SIG_DFL);
    execvpe(args[0], args.data(), env.data());
    static const char text[] = "the program could not be started\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  if (pipe_in) close(in[0]);
  return {pid, out[0], err[0], in[1]};
}

static std::string read_proc(pid_t pid, const char* what) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + what, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string describe_process(pid_t pid) {
  auto line = read_proc(pid, "cmdline");
  for (char& c : line) {
    if (c == '\0') c = ' ';
  }
  return std::to_string(pid) + ": " + line;
}

std::vector<pid_t> tagged_processes(const std::string& tag) {
  std::vector<pid_t> found;
  DIR* dir = opendir("/proc");
  if (!dir) return found;
  while (auto* entry = readdir(dir)) {
    auto pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || pid == getpid()) continue;
    bool tagged = read_proc(pid, "cmdline").find(tag) != std::string::npos ||
                  read_proc(pid, "environ").find(tag) != std::string::npos;
    if (tagged) found.push_back(pid);
  }
  closedir(dir);
  return found;
}

void kill_tagged(const std::string& tag) {
  for (pid_t pid : tagged_processes(tag))
    kill(pid, SIGKILL);
}

}  // namespace lineward::wire

// Processes: starting one with pipes, looking for processes by tag in /proc, and the frames that a stdio stub
// and the runner exchange over their Unix socket. This file knows nothing of scripts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::wire {

// A frame: kind, 32-bit length, payload.
enum class FrameKind : char {
  hello = 'H',         // stub → runner: upstream's name
  input = 'I',         // stub → runner: bytes of stdin
  input_end = 'E',     // stub → runner
  signal = 'S',        // stub → runner: a signal's number came
  done = 'D',          // stub → runner: an order was carried out
  output = 'O',        // runner → stub: bytes for stdout
  paced = 'P',         // runner → stub: the same, and wait until they were read
  error_output = 'R',  // runner → stub: bytes for stderr
  close_output = 'C',
  exit = 'X',  // payload: the code
  ignore_term = 'T',
  reading = 'G',  // payload: "on" or "off", whether stdin is read
  sleeper = 'F',  // payload: flags "s" (setsid), "o" (keep stdout)
};

struct Frame {
  FrameKind kind;
  std::string payload;
};

bool write_all(int fd, std::string_view bytes);
bool write_frame(int fd, FrameKind kind, std::string_view payload = {});
std::optional<Frame> cut_frame(std::string& buffer);  // takes one complete frame from the front

// The program that the gateway starts: `wire-runner --stdio-peer SOCKET NAME TAG`.
int stdio_stub_main(const std::string& socket_path, const std::string& name, const std::string& tag);
// `wire-runner --sleeper TAG`: a grandchild that only sleeps.
int sleeper_main();

struct Child {
  pid_t pid = -1;
  int out = -1, err = -1;  // read ends of its stdout and stderr
  int in = -1;             // write end of its stdin, where that is a pipe
};
// stdin is /dev/null or a pipe; dies with the calling thread. `withheld` is a variable of this process that
// it does not get. Throws std::runtime_error.
Child start_process(const std::vector<std::string>& argv, const std::vector<std::string>& extra_env,
                    bool pipe_in = false, std::string_view withheld = {});

std::string describe_process(pid_t pid);
// Processes, except this one and zombies, with `tag` in their arguments or environment.
std::vector<pid_t> tagged_processes(const std::string& tag);
void kill_tagged(const std::string& tag);

}  // namespace lineward::wire

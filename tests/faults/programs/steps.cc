#include "steps.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace faults {
namespace {

using std::chrono::milliseconds;

std::string from_hex(std::string_view hex) {
  auto digit = [](char c) { return static_cast<char>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); };
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(static_cast<uint8_t>(digit(hex[i])) << 4 | digit(hex[i + 1]));
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string line_for(const CallContext& call, std::string_view hex) {
  std::string text = from_hex(hex);
  replace_all(text, "$ID", call.raw_id);
  replace_all(text, "$TOKEN", call.raw_token);
  return text;
}

// A process below this one that holds stdout open and lives in a session of its own.
void fork_holder() {
  if (fork() != 0) return;
  setsid();
  signal(SIGTERM, SIG_IGN);
  for (;;)
    pause();
}

// Lines of that size until the time is over; what comes in meanwhile is served between them.
// Writes blocks of 256 KiB for so long, each `pause_ms` after the one before.
void flood(int fd, const std::string& line, int ms, const World& world, int pause_ms = 0) {
  std::string block;
  while (block.size() < 256 * 1024)
    block += line;
  for (int64_t end = now_ms() + ms; now_ms() < end;) {
    write_all(fd, block);
    world.serve(pause_ms);
  }
}

}  // namespace

int64_t now_ms() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n <= 0) _exit(9);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void run_steps(std::string_view steps, const CallContext& call, const World& world) {
  while (!steps.empty()) {
    size_t end = std::min(steps.find(' '), steps.size());
    std::string_view step = steps.substr(0, end);
    steps.remove_prefix(std::min(end + 1, steps.size()));
    size_t colon = std::min(step.find(':'), step.size());
    std::string_view name = step.substr(0, colon);
    std::string value(step.substr(std::min(colon + 1, step.size())));
    const int number = std::atoi(value.c_str());
    if (name == "hex") {
      write_all(STDOUT_FILENO, line_for(call, value));
    } else if (name == "each") {  // byte by byte
      for (char byte : line_for(call, value)) {
        write_all(STDOUT_FILENO, std::string_view(&byte, 1));
        std::this_thread::sleep_for(milliseconds(1));
      }
    } else if (name == "big") {  // so many MiB without a line end
      const std::string piece(1 << 20, 'x');
      for (int i = 0; i < number; ++i)
        write_all(STDOUT_FILENO, piece);
    } else if (name == "answer") {
      world.answer(call);
    } else if (name == "progress") {
      if (!call.raw_token.empty())
        write_all(STDOUT_FILENO,
                  fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/progress","params":)"
                              R"({{"progressToken":{},"progress":{}}}}})"
                              "\n",
                              call.raw_token, number));
    } else if (name == "flood-progress") {
      flood(STDOUT_FILENO,
            fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/progress","params":)"
                        R"({{"progressToken":{},"progress":1,"message":"{}"}}}})"
                        "\n",
                        call.raw_token, std::string(8 * 1024, 'x')),
            number, world);
    } else if (name == "flood-out") {
      flood(STDOUT_FILENO,
            fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/message","params":)"
                        R"({{"level":"info","data":"{}"}}}})"
                        "\n",
                        std::string(1000, 'x')),
            number, world);
    } else if (name == "flood-err") {
      flood(STDERR_FILENO, std::string(200, 'e') + '\n', number, world);
    } else if (name == "much-err") {  // 5 MiB a second
      flood(STDERR_FILENO, std::string(200, 'e') + '\n', number, world, 50);
    } else if (name == "err") {
      write_all(STDERR_FILENO, from_hex(value));
    } else if (name == "wait") {
      world.serve(number);
    } else if (name == "deaf") {  // reads nothing for so long
      std::this_thread::sleep_for(milliseconds(number));
    } else if (name == "kill") {
      kill(getpid(), SIGKILL);
    } else if (name == "exit") {
      _exit(number);
    } else if (name == "closeout") {
      close(STDOUT_FILENO);
    } else if (name == "fork") {
      fork_holder();
    }
  }
}

}  // namespace faults

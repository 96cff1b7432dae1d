#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "log/log.h"
#include "process/spawner.h"
#include "runtime/gateway.h"

namespace {

using lineward::cli::ExitCode;
using lineward::cli::Invocation;

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void configure_log(const Invocation& invocation) {
  using lineward::config::LogFormat;
  auto format = lineward::log::Format::logfmt;
  switch (invocation.config.log.format) {
    case LogFormat::automatic:
      if (isatty(STDERR_FILENO)) format = lineward::log::Format::text;
      break;
    case LogFormat::text: format = lineward::log::Format::text; break;
    case LogFormat::logfmt: break;
    case LogFormat::json: format = lineward::log::Format::json; break;
  }
  auto level = static_cast<lineward::log::Level>(invocation.config.log.level);
  lineward::log::configure(format, level, invocation.colour && format == lineward::log::Format::text);
}

// What is opened first must not become stdin, stdout or stderr where those are closed.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
  }
}

// Most systems allow more open files than they give at first; connections and processes need them. Servers
// keep what there was before: the spawner has been forked by then.
void raise_descriptor_limit() {
  constexpr rlim_t kPlenty = 65536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kPlenty) return;
  limit.rlim_cur = std::min(limit.rlim_max, kPlenty);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The C library asks the kernel for each large block anew, and every page of it is then cleared at its first
// use: two thirds of what a message of 8 MiB costs. What was freed is kept for the next one instead;
// MemoryReturn gives it back when the large messages are over.
void keep_large_blocks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it takes
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

}  // namespace

// What is thrown this far ends in an abort that names it.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  std::signal(SIGPIPE, SIG_IGN);
  fill_standard_descriptors();
  // First of all, while this process is small, has one thread and has read no secret.
  auto spawner = lineward::net::fork_spawner(nullptr);
  auto parsed =
      lineward::cli::parse_command_line(argc, argv, LINEWARD_VERSION, environment, std::cout, std::cerr);
  if (auto* code = std::get_if<ExitCode>(&parsed)) return static_cast<int>(*code);
  auto& invocation = std::get<Invocation>(parsed);
  if (!spawner) {
    lineward::log::tell("lineward: " + spawner.error().text + "\n");
    return static_cast<int>(ExitCode::internal);
  }
  configure_log(invocation);
  raise_descriptor_limit();
  keep_large_blocks();
  lineward::RunOptions options;
  options.version = LINEWARD_VERSION;
  options.revision = LINEWARD_REVISION;
  options.source = invocation.config_file.empty() ? "command line" : invocation.config_file;
  options.load = invocation.load;
  options.exit_with_upstream = invocation.exit_with_upstream;
  options.exit_with_parent = invocation.exit_with_parent;
  options.quiet = invocation.quiet;
  int code = 0;
  {
    // How many more it takes stands in the configuration. So these begin with a copy of it, and of secrets
    // that it names, which the first spawner never has; they do not look at it, and share its few MiB with us
    // until one of us writes there.
    std::vector<int> spawners{*spawner};
    while (spawners.size() < lineward::Gateway::workers_of(invocation.config)) {
      auto next = lineward::net::fork_spawner(nullptr);
      if (!next) {
        std::fprintf(stderr, "lineward: %s\n", next.error().text.c_str());
        return static_cast<int>(ExitCode::internal);
      }
      spawners.push_back(*next);
    }
    lineward::Gateway gateway(std::move(invocation.config), std::move(options), std::move(spawners));
    code = gateway.run();
  }
  return code;
}

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/random_id.h"
#include "foundation/log/log.h"
#include "foundation/net/activation_sockets.h"
#include "foundation/net/service_variables.h"
#include "foundation/net/signals.h"
#include "foundation/net/static_init.h"
#include "foundation/process/first_process.h"
#include "foundation/process/launcher.h"
#include "foundation/process/spawner.h"
#include "operate/cli/command_line.h"
#include "operate/share/lease_keeper.h"
#include "operate/share/share_config.h"
#include "operate/share/share_key.h"
#include "operate/share/share_place.h"
#include "runtime/gateway.h"

namespace {

using lineward::cli::ExitCode;
using lineward::cli::Invocation;

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

enum class Coloured : bool { no, yes };

void configure_log(const lineward::config::Log& log, Coloured coloured) {
  using lineward::config::LogFormat;
  auto format = lineward::log::Format::logfmt;
  switch (log.format) {
    case LogFormat::automatic:
      if (isatty(STDERR_FILENO)) format = lineward::log::Format::text;
      break;
    case LogFormat::text: format = lineward::log::Format::text; break;
    case LogFormat::logfmt: break;
    case LogFormat::json: format = lineward::log::Format::json; break;
  }
  auto level = static_cast<lineward::log::Level>(log.level);
  lineward::log::configure(format, level, coloured == Coloured::yes && format == lineward::log::Format::text);
}

// If stdin, stdout or stderr is closed, the first opened file would get its number.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
  }
}

// Most systems start with a low soft limit; connections and processes need more. Servers keep the original
// limit: the spawner is forked before.
void raise_descriptor_limit() {
  constexpr rlim_t kPlenty = 65536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kPlenty) return;
  limit.rlim_cur = std::min(limit.rlim_max, kPlenty);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// By default the C library maps each large block anew, and the kernel clears every page at its first use.
// That is two thirds of the cost of a message of 8 MiB. With these settings freed blocks are reused;
// MemoryReturn returns them when the large messages are over.
void keep_large_blocks() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the maximum
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

// Runs in its own forked process; stdin and stdout are its only client's socket.
[[noreturn]] void serve_one_client(lineward::config::Config config) {
  setsid();  // Ctrl-C goes to the client, which decides
  int code = static_cast<int>(ExitCode::internal);
  if (auto spawner = lineward::process::fork_spawner(nullptr)) {
    configure_log(config.log, Coloured::no);
    raise_descriptor_limit();
    lineward::runtime::RunOptions options;
    options.version = LINEWARD_VERSION;
    options.revision = LINEWARD_REVISION;
    options.source = "command line";
    options.quiet = true;
    lineward::runtime::Gateway gateway(std::move(config), std::move(options), {*spawner});
    code = gateway.run();
  }
  std::fflush(stderr);
  _exit(code);  // other cleanup belongs to the parent process
}

lineward::Result<lineward::cli::StartedGateway> start_gateway(lineward::config::Config config, int log) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return lineward::fail(std::string("no socket for the gateway: ") + std::strerror(errno));
  std::cout.flush();
  std::cerr.flush();
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(log, STDERR_FILENO);
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    serve_one_client(std::move(config));
  }
  close(ends[1]);
  if (pid > 0) return lineward::cli::StartedGateway{ends[0], pid};
  close(ends[0]);
  return lineward::fail(std::string("cannot fork the gateway: ") + std::strerror(errno));
}

using lineward::cli::ShareRequest;

// `lineward stdio --share`: makes this process one of the clients of a shared gateway, which a process forked
// here finds or starts. `options.keeper` is the socket of that process. Returns an exit code.
int join_shared(Invocation& invocation, lineward::runtime::RunOptions& options) {
  namespace share = lineward::share;
  const ShareRequest& request = *invocation.share;
  share::ShareFacts facts;
  facts.version = options.version;
  facts.revision = options.revision;
  facts.words = request.words;
  facts.files = request.files;
  facts.looked_up = request.looked_up;
  facts.environment = share::counted_environment(invocation.config, environ);
  if (share::depends_on_directory(invocation.config)) facts.directory = share::working_directory();
  facts.machine = share::machine_facts(invocation.config);
  facts.from_files = share::facts_from_files(invocation.config);
  for (std::string& fact : share::facts_of_files(request.named))
    facts.from_files.push_back(std::move(fact));
  auto place = share::share_place(share::share_key(facts));
  if (!place) {
    lineward::log::tell("lineward: " + place.error().text + "\n");
    return static_cast<int>(ExitCode::temporary);
  }
  share::KeeperPlan plan;
  plan.place = *place;
  plan.token = lineward::random_id();
  plan.linger = request.linger;
  const auto client = share::client_config(invocation.config, *place, plan.token);
  plan.limit = share::start_limit(invocation.config);
  // In the process of the gateway, which has this one's memory.
  const share::ServeShared serve = [&](const std::function<void()>& ready) {
    auto spawner = lineward::process::fork_spawner(nullptr);
    if (!spawner) {
      lineward::log::tell("lineward: " + spawner.error().text + "\n");
      return static_cast<int>(ExitCode::internal);
    }
    configure_log(invocation.config.log, Coloured::no);
    raise_descriptor_limit();
    keep_large_blocks();
    lineward::runtime::RunOptions its = options;
    its.exit_with_parent = false;
    its.quiet = true;
    its.lease_path = place->lease;
    its.ready = ready;
    lineward::runtime::Gateway gateway(share::gateway_config(std::move(invocation.config), *place),
                                       std::move(its), {*spawner});
    return gateway.run();
  };
  auto keeper = share::fork_keeper(plan, serve);
  if (!keeper) {
    lineward::log::tell("lineward: " + keeper.error().text + "\n");
    return static_cast<int>(ExitCode::internal);
  }
  options.keeper = *keeper;
  if (int failed = share::await_lease(*keeper, plan.limit + share::kLeaseLimit); failed != 0) return failed;
  invocation.config = client;
  return 0;
}

// In place of a spawner's; -1: there is none. The other end stays open as long as this process.
int socket_without_spawner() {
  int ends[2];
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? ends[0] : -1;
}

}  // namespace

// An uncaught exception aborts, and names itself.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  // A reload requested before there is a configuration waits for the gateway; other commands end.
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "run" || command == "stdio" || command.substr(0, 1) == "-")
    lineward::net::hold_signals({SIGHUP});
  lineward::process::serve_as_first_process();
  lineward::net::use_only_what_is_linked_in();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);  // a log rotation must not end a starting gateway
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes an error of write()
  fill_standard_descriptors();
  const lineward::process::Launcher launcher = lineward::process::follow_launcher();
  if (launcher == lineward::process::Launcher::gone) return static_cast<int>(ExitCode::terminated);
  // First, while this process is small, single-threaded and has read no secret.
  auto spawner = lineward::process::fork_spawner(nullptr);
  auto parsed = lineward::cli::parse_command_line(argc, argv, LINEWARD_VERSION, environment, std::cout,
                                                  std::cerr, start_gateway);
  if (auto* code = std::get_if<ExitCode>(&parsed)) return static_cast<int>(*code);
  auto& invocation = std::get<Invocation>(parsed);
  if (!spawner) {
    lineward::log::tell("lineward: " + spawner.error().text + "\n");
    return static_cast<int>(ExitCode::internal);
  }
  configure_log(invocation.config.log, invocation.colour ? Coloured::yes : Coloured::no);
  lineward::runtime::RunOptions options;
  options.version = LINEWARD_VERSION;
  options.revision = LINEWARD_REVISION;
  options.source = invocation.config_file.empty() ? "command line" : invocation.config_file;
  options.load = invocation.load;
  options.exit_with_upstream = invocation.exit_with_upstream;
  options.exit_with_parent = invocation.exit_with_parent || launcher == lineward::process::Launcher::alive;
  options.quiet = invocation.quiet;
  options.service = lineward::net::take_service_variables();
  // The process of one client is not a service: the inherited variables are the client's.
  if (invocation.config.listen.address == "stdio") options.service = {};
  if (auto adopted = lineward::net::activation_sockets().adopt(options.service); !adopted) {
    lineward::log::tell("lineward: " + adopted.error().text + "\n");
    return static_cast<int>(ExitCode::bad_config);
  }
  if (invocation.share) {
    if (int failed = join_shared(invocation, options); failed != 0) return failed;
    // The front of a shared gateway starts no server.
    if (auto idle = socket_without_spawner(); idle >= 0) {
      close(*spawner);
      spawner = idle;
    }
  }
  raise_descriptor_limit();
  keep_large_blocks();
  int code = 0;
  {
    // The configuration has the number of further spawners. They begin with a copy of it, including its
    // secrets, which the first spawner never has. They do not read it, and share its few MiB copy-on-write.
    std::vector<int> spawners{*spawner};
    while (spawners.size() < lineward::runtime::Gateway::workers_of(invocation.config)) {
      auto next = lineward::process::fork_spawner(nullptr);
      if (!next) {
        std::fprintf(stderr, "lineward: %s\n", next.error().text.c_str());
        return static_cast<int>(ExitCode::internal);
      }
      spawners.push_back(*next);
    }
    lineward::runtime::Gateway gateway(std::move(invocation.config), std::move(options), std::move(spawners));
    code = gateway.run();
  }
  return code;
}

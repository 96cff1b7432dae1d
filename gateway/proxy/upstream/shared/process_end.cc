#include "proxy/upstream/shared/process_end.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "config/config.h"
#include "config/duration.h"
#include "config/secrets.h"
#include "foundation/log/redaction.h"
#include "foundation/log/secret_set.h"
#include "foundation/process/child_process.h"

namespace lineward::upstream {
namespace {

std::string errno_text(int error) {
  const char* name = strerrorname_np(error);
  return fmt::format("{} ({})", name != nullptr ? name : std::to_string(error), std::strerror(error));
}

std::string_view hint_for(const Error& failure) {
  const bool find = failure.place == "find";
  switch (failure.code) {
    case ENOENT:
      return find ? "install it, or write its full path as command"
                  : "the interpreter that its first line (#!) names does not exist";
    case EACCES: return "make it executable (chmod +x), and the directories above it accessible";
    case ENOEXEC: return "a script begins with #!, and a program must be built for this machine";
    case EAGAIN: return "the limit of processes is reached (ulimit -u, pids.max of the cgroup)";
    case ENOMEM: return "there is not enough memory";
    case EMFILE:
    case ENFILE: return "the limit of open files is reached (ulimit -n)";
    case E2BIG: return "its arguments and environment are too large together";
    case ETXTBSY: return "a process is writing to that file";
    case ELOOP: return "its path is a loop of symbolic links";
    default: return {};
  }
}

std::string limit_text(std::string_view name, const config::Rlimit& limits) {
  if (name == "memory") return config::format_size(limits.memory);
  if (name == "openFiles") return std::to_string(limits.open_files);
  if (name == "cpu") return config::format_duration(limits.cpu);
  if (name == "processes") return std::to_string(limits.processes);
  return "0";
}

}  // namespace

ProcessEnd describe_failure(const Error& failure, const config::Server& server) {
  ProcessEnd end;
  end.reason = mcp::EndReason::upstream_unreachable;
  constexpr std::string_view kLimit = "rlimit.";
  const std::string why = errno_text(failure.code);
  std::string_view hint = hint_for(failure);
  if (failure.place == "find" && failure.code == ENOENT) {
    // Most texts start with the server's name; the errno adds nothing to "was not found".
    end.text =
        server.command == server.name ? "was not found" : fmt::format("'{}' was not found", server.command);
  } else if (failure.place == "chdir") {
    end.text = "could not be started in its directory: " + why;
    end.detail = fmt::format("cannot change to '{}' (cwd)", server.cwd);
    hint = {};
  } else if (failure.place.rfind(kLimit, 0) == 0) {
    std::string_view name = std::string_view(failure.place).substr(kLimit.size());
    end.text = fmt::format("'{}' could not be started with {} {}: {}", server.command, failure.place,
                           limit_text(name, server.rlimit), why);
    hint = failure.code == EPERM ? "it is above the hard limit of Lineward itself (ulimit -H)" : "";
  } else {
    end.text = fmt::format("'{}' could not be started: {}", server.command, why);
    if (failure.place != "find" && failure.place != "exec") end.detail = "while making: " + failure.place;
  }
  if (!hint.empty()) end.text += fmt::format("; {}", hint);
  if (!failure.text.empty()) end.detail = "PATH searched: " + failure.text;
  return end;
}

std::string start_failure_text(const ProcessEnd& end, const config::Server& server) {
  if (end.last_stderr.empty() || !server.tell_stderr || end.reason == mcp::EndReason::cancelled_drain)
    return end.text;
  const redaction::SecretSet given(config::given_to(server), config::kShortestGiven);
  std::string line = given.hide(redaction::apply(end.last_stderr), "***");
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return fmt::format("{}; its last words: {}", end.text, line);
}

}  // namespace lineward::upstream

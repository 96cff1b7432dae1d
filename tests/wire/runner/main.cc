// wire-runner: runs one script against a gateway. The same program is the stdio process that gateways start.
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "interpreter.h"

namespace lineward::wire {
namespace {

const char* const usage =
    "usage: wire-runner --gateway PATH [--gateway-args WORDS] [--must-fail] [--jitter MS] [-v] SCRIPT\n"
    "       wire-runner --gateway-template \"PROGRAM --port ${port} -- ${words}\" SCRIPT\n"
    "       wire-runner --check SCRIPT…        parse only\n"
    "       wire-runner --manual               the verbs, as in README.md\n"
    "       wire-runner --check-manual FILE    is FILE up to date?\n";

std::string read_file(const std::string& path, bool& ok) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  ok = in.good() || in.eof();
  if (!in.is_open()) ok = false;
  return out.str();
}

bool load(const std::string& path, Script& script) {
  bool ok = false;
  auto text = read_file(path, ok);
  if (!ok) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return false;
  }
  std::vector<ScriptError> errors;
  script = parse_script(path, text, errors);
  for (const auto& error : errors)
    fmt::print(stderr, "{}:{}: {}\n", path, error.line, error.text);
  return errors.empty();
}

int check_manual(const std::string& path) {
  bool ok = false;
  if (read_file(path, ok).find(manual()) != std::string::npos && ok) return 0;
  fmt::print(stderr, "{} does not contain what `wire-runner --manual` prints\n", path);
  return 1;
}

// The last resort: the script's own limit did not end it.
void start_watchdog(Run& run) {
  std::thread([&run, tag = run.tag(), limit = run.deadline()] {
    while (Clock::now() < limit + std::chrono::seconds(50))
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    fmt::print(stderr, "the script could not be stopped in time\n{}", run.transcript());
    kill_tagged(tag);
    _exit(1);
  }).detach();
}

// A line that must fail says so: `# fails: TEXT`, TEXT being part of the message.
int judge_failure(const Script& script, const Run& run, const std::string& text) {
  if (!run.failed()) {
    fmt::print(stderr, "{}: passed, but has to fail\n", script.file);
    return 1;
  }
  auto at = static_cast<size_t>(run.failure_line());
  auto source = at >= 1 && at <= script.lines.size() ? script.lines[at - 1] : "";
  auto mark = source.find("# fails: ");
  if (mark != std::string::npos && text.find(source.substr(mark + 9)) != std::string::npos) return 0;
  fmt::print(stderr, "{}:{}: failed at the wrong line or with the wrong words: {}\n", script.file, at, text);
  return 1;
}

struct Manner {
  bool must_fail = false, verbose = false;
  std::chrono::milliseconds jitter{0};
};

int run(const Script& script, const GatewayProgram& program, const Manner& manner) {
  const auto [must_fail, verbose, jitter] = manner;
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  Run state(script, std::string(self, n > 0 ? static_cast<size_t>(n) : 0));
  state.set_jitter(jitter);
  start_watchdog(state);
  {
    Interpreter interpreter(state, program);
    interpreter.run_script();
  }
  auto text = state.failure_text();
  if (must_fail) {
    int verdict = judge_failure(script, state, text);
    if (verdict != 0 || verbose) fmt::print(stderr, "{}", state.transcript());
    return verdict;
  }
  if (verbose || state.failed()) fmt::print(stderr, "---- {}\n{}----\n", script.title, state.transcript());
  if (!state.failed()) return 0;
  fmt::print(stderr, "{}:{}: {}\n", script.file, state.failure_line(), text);
  return 1;
}

int main_of(const std::vector<std::string>& args) {
  signal(SIGPIPE, SIG_IGN);
  GatewayProgram program;
  std::vector<std::string> files;
  bool check = false;
  Manner manner;
  for (size_t i = 0; i < args.size(); ++i) {
    auto value = [&] { return i + 1 < args.size() ? args[++i] : std::string(); };
    if (args[i] == "--stdio-peer" && args.size() == 4) return stdio_stub_main(args[1], args[2], args[3]);
    if (args[i] == "--sleeper") return sleeper_main();
    if (args[i] == "--manual") return fmt::print("{}", manual()), 0;
    if (args[i] == "--check-manual") return check_manual(value());
    if (args[i] == "--gateway") {
      program.path = value();
    } else if (args[i] == "--gateway-args") {
      program.extra_args = split_words(value());
    } else if (args[i] == "--gateway-template") {
      program.command_template = value();
    } else if (args[i] == "--check") {
      check = true;
    } else if (args[i] == "--jitter") {
      manner.jitter = std::chrono::milliseconds(std::atoi(value().c_str()));
    } else if (args[i] == "--must-fail") {
      manner.must_fail = true;
    } else if (args[i] == "-v") {
      manner.verbose = true;
    } else {
      files.push_back(args[i]);
    }
  }
  if (files.empty() ||
      (!check && (files.size() != 1 || (program.path.empty() && program.command_template.empty())))) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  bool good = true;
  Script script;
  for (const auto& file : files)
    good = load(file, script) && good;
  if (check || !good) return good ? 0 : 2;
  return run(script, program, manner);
}

}  // namespace
}  // namespace lineward::wire

int main(int argc, char** argv) {
  return lineward::wire::main_of(std::vector<std::string>(argv + 1, argv + argc));
}

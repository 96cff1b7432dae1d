#include "operate/cli/tail_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ctime>

#include "config/duration.h"
#include "foundation/base/backoff.h"
#include "operate/cli/control_text.h"
#include "operate/cli/event_stream.h"
#include "operate/cli/interrupts.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/paced_output.h"
#include "operate/cli/prepare.h"
#include "operate/cli/server_name.h"
#include "operate/cli/tail_text.h"

namespace lineward::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kTailFooter =
    "Prints a line when a call begins, waits, reports progress or ends, and for events of servers. Times\n"
    "are UTC, as in the log. --types selects calls, servers (also sessions, reloads and operators) and\n"
    "log (every line).\n"
    "After a restart of the gateway it connects again, and reports missed events. Ctrl-C ends it.\n"
    "\n"
    "Examples\n"
    "  lineward tail\n"
    "  lineward tail --errors --upstream github\n"
    "  lineward tail --types calls --format json | jq 'select(.event == \"call.end\") | .data.reason'";
constexpr const char* kTailHelp = "lineward tail --help";
constexpr Backoff::Range kPauses{milliseconds(250),
                                 milliseconds(2000)};  // between two attempts to find it again
constexpr milliseconds kLastWords{1000};

std::string utc_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text.data(), now.tv_nsec / 1000000);
}

bool has_word(const std::string& list, std::string_view word) {
  return ("," + list + ",").find(fmt::format(",{},", word)) != std::string::npos;
}

// A run of the command, from the first connection to its end.
class Tail {
 public:
  Tail(const TailFlags& flags, const CommandContext& around, std::string socket, milliseconds patience)
      : flags_(flags),
        around_(around),
        socket_(std::move(socket)),
        patience_(patience),
        stream_(flags.types),
        lines_({flags.upstream, flags.errors}, style_of(flags, around), has_word(flags.types, "calls"),
               has_word(flags.types, "servers")) {}

  ExitCode run() {
    stream_.open(socket_);
    while (!code_) {
      step();
      if (!code_ && stream_.is_open()) continue;
      if (!code_) lost();
    }
    output_.finish(kLastWords);
    return *code_;
  }

 private:
  // Waits for an event, and handles it.
  void step() {
    print();
    std::array<pollfd, 3> set{output_.wants(), {signals_.fd(), POLLIN, 0}, {-1, 0, 0}};
    const bool reads = stream_.is_open() && !output_.full();
    if (reads) set[2] = stream_.wants();
    const auto until = stream_.is_open() ? stream_.silence() : steady_clock::now();
    // A wanted descriptor of -1 is a connection to be retried.
    wait_for_any(set.data(), reads ? 3 : 2, until);
    output_.advance(set[0].revents);
    if (output_.broken() || signals_.next() != 0) {
      code_ = ExitCode::ok;
      return;
    }
    if (reads) stream_.advance();
    print();
  }

  void print() {
    while (!output_.full() && !code_) {
      auto event = stream_.next();
      if (!event) return;
      if (event->type == "hello") greeted();
      const std::string now = utc_now();
      const std::string at =
          text_of(event->data, "time").size() == now.size() ? text_of(event->data, "time") : now;
      output_.add(flags_.json() ? lines_.json(*event, now) : lines_.text(*event, at.substr(11, 12)));
    }
  }

  void greeted() {
    if (away_) {
      say(fmt::format(
          "the gateway is there again after {}",
          short_time(std::chrono::duration_cast<milliseconds>(steady_clock::now() - *away_).count())));
    }
    away_.reset();
    pause_ = kPauses.first;
    was_there_ = true;
  }

  // The stream has ended: finds the gateway again, or gives up.
  void lost() {
    if (stream_.refusal() && (stream_.refusal()->status == 404 || !was_there_)) {
      code_ = refused(around_, socket_, "/api/v1/events", *stream_.refusal());
      return;
    }
    if (!was_there_) {
      code_ = failed(around_, socket_, stream_.why());
      return;
    }
    if (!away_) {
      away_ = steady_clock::now();
      say(stream_.why() + fmt::format("; looking for it for {}", flags_.retry));
    }
    const auto give_up = *away_ + patience_;
    if (steady_clock::now() >= give_up) {
      code_ = failed(around_, socket_, fmt::format("the gateway did not come back within {}", flags_.retry));
      return;
    }
    const auto until = std::min(give_up, steady_clock::now() + pause_);
    pause_ = Backoff::after(pause_, kPauses);
    while (!code_ && steady_clock::now() < until)
      wait_away(until);
    if (code_) return;
    Found found = find_gateway(address_of(flags_, around_));
    if (!found.socket.empty()) {
      socket_ = found.socket;
      stream_.open(socket_);
    } else if (found.several.size() > 1) {
      auto chosen = choose_gateway(flags_, around_);
      if (auto* code = std::get_if<ExitCode>(&chosen)) code_ = *code;
    }
  }

  void wait_away(steady_clock::time_point until) {
    std::array<pollfd, 2> set{output_.wants(), {signals_.fd(), POLLIN, 0}};
    wait_for_any(set.data(), set.size(), until);
    output_.advance(set[0].revents);
    if (output_.broken() || signals_.next() != 0) code_ = ExitCode::ok;
  }

  void say(const std::string& text) {
    output_.finish(kLastWords);
    around_.err << "lineward tail: " << text << "\n";
    around_.err.flush();
  }

  const TailFlags& flags_;
  const CommandContext& around_;
  std::string socket_;
  const milliseconds patience_;
  Interrupts signals_{SIGINT, SIGTERM, SIGHUP};
  PacedOutput output_{STDOUT_FILENO};
  EventStream stream_;
  TailLines lines_;
  bool was_there_ = false;
  std::optional<steady_clock::time_point> away_;
  milliseconds pause_ = kPauses.first;
  std::optional<ExitCode> code_;
};

// Each word of the list is a group of events.
bool are_types(std::string_view list) {
  for (;;) {
    const std::string_view word = list.substr(0, list.find(','));
    if (word != "calls" && word != "servers" && word != "log") return false;
    if (word.size() == list.size()) return true;
    list.remove_prefix(word.size() + 1);
  }
}

}  // namespace

void add_tail(CLI::App& app, TailFlags& flags) {
  CLI::App* command = app.add_subcommand("tail", "Follows what happens in a running gateway.");
  add_gateway_flags(*command, flags);
  command->add_option("--upstream", flags.upstream, "Only of this server, or at this path of several servers")
      ->type_name("NAME");
  command->add_flag("--errors", flags.errors, "Only errors and failed calls");
  command->add_option("--types", flags.types, "calls, servers, log, with commas between (calls,servers)")
      ->type_name("LIST");
  command->add_option("--retry", flags.retry, "How long to wait for a gateway that has stopped (1m)")
      ->type_name("DUR");
  command->footer(kTailFooter);
}

ExitCode tail(const TailFlags& flags, const CommandContext& around) {
  const auto patience = config::parse_duration(flags.retry);
  if (!patience) return bad_usage(around.err, "--retry: " + patience.error().text, kTailHelp);
  if (!are_types(flags.types))
    return bad_usage(around.err, "--types takes calls, servers and log, with commas between", kTailHelp);
  auto chosen = choose_gateway(flags, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) return *code;
  const std::string& socket = std::get<std::string>(chosen);
  if (!flags.upstream.empty()) {
    if (auto said = wrong_server(socket, flags.upstream, around)) return *said;
  }
  return Tail(flags, around, socket, *patience).run();
}

}  // namespace lineward::cli

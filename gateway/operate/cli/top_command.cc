#include "operate/cli/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "config/duration.h"
#include "operate/cli/control_text.h"
#include "operate/cli/full_screen.h"
#include "operate/cli/gateway_poll.h"
#include "operate/cli/interrupts.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/key_reader.h"
#include "operate/cli/paced_output.h"
#include "operate/cli/prepare.h"
#include "operate/cli/top_view.h"

namespace lineward::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kTopFooter =
    "Keys: j k and arrows choose a call, Enter shows its details, c cancels it (asks first).\n"
    "Other keys: / filters, s sorts, l shows the log, ? shows all keys, q ends. If stdout is not a\n"
    "terminal, the command prints one screen and ends.\n"
    "\n"
    "Examples\n"
    "  lineward top\n"
    "  lineward top --interval 250ms\n"
    "  lineward top --format json | jq .calls";
constexpr milliseconds kLeastInterval{100};
// A lone escape after this time is the Escape key.
constexpr milliseconds kEscapeAfter{60};
constexpr milliseconds kLastFrame{300};

class Top {
 public:
  Top(const TopFlags& flags, const CommandContext& around, std::string socket, milliseconds interval)
      : colour_(around.wants_colour(flags.color, true)),
        poll_(std::move(socket), address_of(flags, around), interval, model_) {}

  void run() {
    while (!over_) {
      draw();
      wait();
    }
    output_.finish(kLastFrame);
  }

 private:
  static TopSize size() {
    const FullScreen::Size now = FullScreen::size();
    return {now.columns, now.rows};
  }

  // A slow terminal gets fewer frames, each complete.
  void draw() {
    if (!changed_ || !output_.empty()) return;
    changed_ = false;
    output_.add_screen(FullScreen::picture(top_screen(model_, size(), colour_)));
  }

  void wait() {
    std::array<pollfd, 5> set{};
    size_t count = 0;
    auto until = poll_.until();
    set[count++] = {STDIN_FILENO, POLLIN, 0};
    set[count++] = {signals_.fd(), POLLIN, 0};
    set[count++] = output_.wants();
    if (poll_.connection() != nullptr) set[count++] = poll_.connection()->wants();
    if (action_) {
      set[count++] = action_->wants();
      until = std::min(until, action_until_);
    }
    if (keys_.waits()) until = std::min(until, steady_clock::now() + kEscapeAfter);
    wait_for_any(set.data(), count, until);
    output_.advance(set[2].revents);
    if (output_.broken() || (set[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) over_ = true;
    take_signals();
    read_keys((set[0].revents & POLLIN) != 0);
    if (poll_.advance()) changed_ = true;
    advance_action();
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      changed_ = true;
      if (signal == SIGWINCH) continue;
      if (signal != SIGTSTP) {
        over_ = true;
        return;
      }
      output_.finish(kLastFrame);
      screen_.leave();
      raise(SIGSTOP);
      screen_.enter();
    }
  }

  void read_keys(bool more) {
    const bool waited = keys_.waits();
    if (more) {
      std::array<char, 512> bytes;
      const ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
      if (n > 0) keys_.add({bytes.data(), static_cast<size_t>(n)});
      if (n == 0) over_ = true;
    }
    const auto patience = waited && !more ? KeyReader::Patience::none : KeyReader::Patience::more_may_come;
    while (auto key = keys_.next(patience)) {
      changed_ = true;
      const bool log = model_.has_log();
      if (auto wish = model_.press(*key, top_layout(model_, size()).calls)) act(*wish);
      if (model_.has_log() && !log) poll_.hurry();
    }
  }

  void act(const TopModel::Wish& wish) {
    using Kind = TopModel::Wish::Kind;
    if (wish.kind == Kind::quit) {
      over_ = true;
      return;
    }
    if (action_) return model_.say("wait: the gateway has not answered yet what was asked before");
    acting_ = wish;
    action_until_ = steady_clock::now() + kAnswerLimit;
    const std::string path = "/api/v1/calls/" + wish.call;
    if (wish.kind == Kind::story) {
      action_ = std::make_unique<ControlConnection>(poll_.socket(), path);
      return;
    }
    model_.say(wish.call + ": its cancel was asked for");
    action_ = std::make_unique<ControlConnection>(poll_.socket(), path + "/cancel",
                                                  R"({"reason": "from lineward top", "wait": true})");
  }

  void advance_action() {
    if (!action_) return;
    action_->advance();
    if (!action_->over() && steady_clock::now() < action_until_) return;
    changed_ = true;
    if (action_->over()) {
      auto reply = reply_of(*action_);
      reply ? answered(*reply) : model_.say(reply.error().text);
    } else {
      model_.say(poll_.socket() + " did not answer in time");
    }
    action_ = nullptr;
    poll_.hurry();
  }

  void answered(const ControlReply& reply) {
    if (reply.status == 200 && acting_.kind == TopModel::Wish::Kind::story)
      return model_.show_story(call_text(reply.body, {}) + timeline_text(reply.body));
    if (reply.status == 200) {
      std::string line = cancel_line(reply.body, 0);
      line.resize(line.find_last_not_of('\n') + 1);
      return model_.say(line);
    }
    const json& ended = member_of(reply.body, "ended");
    model_.say(ended.is_object() ? acting_.call + ": " + end_line(ended) : text_of(reply.body, "error"));
  }

  const bool colour_;
  TopModel model_;
  GatewayPoll poll_;
  Interrupts signals_{SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
  FullScreen screen_;
  PacedOutput output_{STDOUT_FILENO};
  KeyReader keys_;
  TopModel::Wish acting_{TopModel::Wish::Kind::quit, {}};
  std::unique_ptr<ControlConnection> action_;
  steady_clock::time_point action_until_;
  bool changed_ = false;  // nothing is drawn before the first data
  bool over_ = false;
};

ExitCode print_once(const std::string& socket, const TopFlags& flags, json status, json calls,
                    const CommandContext& around) {
  if (flags.json()) {
    auto servers = ask_pages(socket, "/api/v1/servers", "servers");
    if (!servers) return failed(around, socket, servers.error().text);
    if (servers->status != 200) return refused(around, socket, "/api/v1/servers", *servers);
    around.out << json{{"status", std::move(status)},
                       {"servers", servers->body["servers"]},
                       {"calls", std::move(calls)}}
                      .dump(2)
               << "\n";
    return ExitCode::ok;
  }
  const Style style = style_of(flags, around);
  if (!status["upstreams"].is_array()) status["upstreams"] = json::array();
  around.out << status_screen(status, style) << "\n";
  around.out << (calls.empty() ? "no calls in flight\n" : calls_table(calls, style));
  return ExitCode::ok;
}

}  // namespace

void add_top(CLI::App& app, TopFlags& flags) {
  CLI::App* command = app.add_subcommand("top", "The calls in flight, on a screen that refreshes itself.");
  add_gateway_flags(*command, flags);
  command->add_option("--interval", flags.interval, "How often it asks the gateway (1s)")->type_name("DUR");
  command->footer(kTopFooter);
}

ExitCode top(const TopFlags& flags, const CommandContext& around) {
  const auto interval = config::parse_duration(flags.interval);
  if (!interval) return bad_usage(around.err, "--interval: " + interval.error().text, "lineward top --help");
  if (*interval < kLeastInterval)
    return bad_usage(around.err, fmt::format("--interval is {}ms at least", kLeastInterval.count()),
                     "lineward top --help");
  auto chosen = choose_gateway(flags, around);
  if (auto* code = std::get_if<ExitCode>(&chosen)) return *code;
  const std::string& socket = std::get<std::string>(chosen);
  // Errors are printed on the plain terminal first, with their exit code.
  auto status = ask(socket, "/api/v1/status");
  if (!status) return failed(around, socket, status.error().text);
  if (status->status != 200) return refused(around, socket, "/api/v1/status", *status);
  const bool screen = !flags.json() && around.out_is_terminal() && FullScreen::possible();
  auto calls = screen ? ask(socket, "/api/v1/calls?limit=1") : ask_pages(socket, "/api/v1/calls", "calls");
  if (!calls) return failed(around, socket, calls.error().text);
  if (calls->status != 200) return refused(around, socket, "/api/v1/calls", *calls);
  if (!screen)
    return print_once(socket, flags, std::move(status->body), std::move(calls->body["calls"]), around);
  Top(flags, around, socket, *interval).run();
  return ExitCode::ok;
}

}  // namespace lineward::cli

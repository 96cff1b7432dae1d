#include "operate/doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

#include "config/duration.h"
#include "config/options/names.h"
#include "config/server_environment.h"
#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"
#include "operate/doctor/node_version.h"
#include "operate/doctor/program_file.h"
#include "operate/doctor/trial_process.h"
#include "operate/fetch/redactor.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/shared/process_end.h"

namespace lineward::doctor {
namespace {

using fetch::Redactor;
using nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kSlowStart{5000};
// A legacy server may not answer server/discover at all.
constexpr milliseconds kSilentDiscover{4000};
constexpr milliseconds kBeforeCancel{500};
constexpr size_t kMaxLines = 100'000;
// Maximum of remembered tools of a list.
constexpr size_t kMaxTools = 10'000, kMaxToolName = 256;

std::string spelled(Clock::duration duration) {
  return config::format_duration(duration_cast<milliseconds>(duration));
}

// A member of a server's message, by reference: its size is unknown, so it is not copied. null if there is
// none.
const json& member_of(const json& object, const char* key) {
  static const json none;
  auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string_view text_of(const json& object, const char* key) {
  const json& found = member_of(object, key);
  return found.is_string() ? std::string_view(found.get_ref<const std::string&>()) : std::string_view();
}

// An implementation's name and version, on one line.
std::string label_of(const json& info, const Redactor& redactor) {
  std::string out;
  for (const char* key : {"name", "version"}) {
    const std::string_view text = text_of(info, key);
    if (!text.empty()) out += (out.empty() ? "" : " ") + redactor(text, 40);
  }
  return out;
}

// A process and its results. Reports the findings that do not depend on the request.
class Session {
 public:
  enum class End : uint8_t { answered, refused, exited, late };

  Session(const config::Server& server, const Trial& trial, const Redactor& redactor)
      : server_(server), trial_(trial), redactor_(redactor), process_(server) {}

  bool start() { return process_.start(begun_ + trial_.patience); }

  // Sends a request with this id and waits up to `patience` for its answer.
  End ask(const std::string& request, int64_t id, milliseconds patience) {
    const auto until = Clock::now() + patience;
    process_.write_line(request);
    return wait_for({id}, until);
  }
  // Waits for the first answer to any of `ids`: answered_id().
  End wait_for(std::initializer_list<int64_t> ids, Clock::time_point until) {
    std::string line;
    for (size_t lines = 0; lines < kMaxLines; ++lines) {
      switch (process_.next(line, until)) {
        case TrialProcess::Next::late: return End::late;
        case TrialProcess::Next::exited: return End::exited;
        case TrialProcess::Next::line: break;
      }
      answer_ = lineward::json::parse_document(line);
      if (!answer_.is_object()) {
        if (banner_.empty() && line.find_first_not_of(" \t\r") != std::string::npos) banner_ = line;
        if (Clock::now() > until) return End::late;
        continue;
      }
      if (answer_.contains("method")) continue;
      const json& id = member_of(answer_, "id");
      const auto* found = std::find_if(ids.begin(), ids.end(), [&](int64_t one) {
        return id.is_string() ? id == std::to_string(one) : id.is_number_integer() && id == one;
      });
      if (found == ids.end()) continue;
      answered_id_ = *found;
      if (first_answer_ == Clock::duration::zero()) first_answer_ = Clock::now() - begun_;
      return answer_.contains("result") ? End::answered : End::refused;
    }
    return End::late;
  }

  int64_t answered_id() const { return answered_id_; }
  const json& result() const {
    static const json none = json::object();
    const json& found = member_of(answer_, "result");
    return found.is_object() ? found : none;
  }
  // The message of an error answer.
  std::string_view refusal() const { return text_of(member_of(answer_, "error"), "message"); }
  TrialProcess& process() { return process_; }
  const std::string& banner() const { return banner_; }
  Clock::duration first_answer() const { return first_answer_; }

  // "it exited with code 1 after 0.3s; its last words: …", without the values of its environment.
  std::string exit_text() {
    upstream::ProcessEnd end = *process_.end();
    end.last_stderr = redactor_(end.last_stderr, 500);
    end.text = "it " + (end.text == "closed its output" ? "closed its stdout" : end.text);
    if (process_.has_exited()) end.text += " after " + spelled(Clock::now() - begun_);
    config::Server telling = server_;
    telling.tell_stderr = true;
    return sanitize(upstream::start_failure_text(end, telling), 500);
  }

 private:
  const config::Server& server_;
  const Trial& trial_;
  const Redactor& redactor_;
  TrialProcess process_;
  Clock::time_point begun_ = Clock::now();
  Clock::duration first_answer_ = Clock::duration::zero();
  json answer_;
  int64_t answered_id_ = 0;
  std::string banner_;
};

class StdioCheck {
 public:
  StdioCheck(const config::Server& server, const Trial& trial, Findings& findings)
      : server_(server), trial_(trial), redactor_(server), findings_(findings) {}

  void run() {
    auto session = open();
    if (!session) return;
    look_at_start(*session);
    look_at_tools(*session);
    look_at_cancel(*session);
    look_at_end(*session);
  }

 private:
  std::unique_ptr<Session> fresh() {
    auto session = std::make_unique<Session>(server_, trial_, redactor_);
    if (session->start()) return session;
    findings_.error("start", sanitize(session->process().end()->text, 500), "see what it needs to run");
    return nullptr;
  }

  // A process with a known era; null if there is none, with the reason in the findings.
  std::unique_ptr<Session> open() {
    auto session = fresh();
    if (!session) return nullptr;
    Session::End answer =
        session->ask(mcp::discover_request(1), 1, std::min<milliseconds>(trial_.patience, kSilentDiscover));
    const std::string initialize = mcp::initialize_request(2, mcp::bare_initialize_params());
    std::string ended;
    if (answer == Session::End::late) {
      // It starts slowly, or ignores unknown requests: the next answer decides.
      const auto until = Clock::now() + trial_.patience;
      session->process().write_line(initialize);
      answer = session->wait_for({1, 2}, until);
      // Two requests, answered in either order: one refusal does not decide the other.
      if (answer == Session::End::refused)
        answer = session->wait_for({session->answered_id() == 1 ? 2 : 1}, until);
    } else if (answer == Session::End::refused) {
      answer = session->ask(initialize, 2, trial_.patience);
    }
    if (answer == Session::End::exited) {
      // Some servers exit on unknown requests: use a second process.
      ended = session->exit_text();
      if (!(session = fresh())) return nullptr;
      answer = session->ask(initialize, 2, trial_.patience);
    }
    if (answer == Session::End::answered && session->answered_id() == 1 && speaks_modern(session->result())) {
      modern_ = true;
      return judge_era(std::move(session));
    }
    if (answer == Session::End::answered && session->answered_id() == 1)
      answer = session->ask(initialize, 2, trial_.patience);
    if (answer == Session::End::answered) {
      session->process().write_line(mcp::kInitialized);
      if (!ended.empty())
        findings_.warning("era", "it ends when it is asked server/discover before initialize: " + ended,
                          "protocolEra: legacy");
      return judge_era(std::move(session));
    }
    tell_no_answer(*session, answer);
    return nullptr;
  }

  static bool speaks_modern(const json& result) {
    auto versions = result.find("supportedVersions");
    if (versions == result.end() || !versions->is_array()) return false;
    return std::any_of(versions->begin(), versions->end(), [](const json& one) {
      return one.is_string() && mcp::looks_modern(one.get_ref<const std::string&>());
    });
  }

  void tell_no_answer(Session& session, Session::End end) {
    tell_banner(session);
    if (end == Session::End::exited) {
      findings_.error("start", session.exit_text(), "run its command in a shell, and see to what it says");
    } else if (end == Session::End::refused) {
      findings_.error("start", "it refused initialize",
                      "is it an MCP server, of a revision that Lineward speaks?");
    } else {
      findings_.error("start",
                      fmt::format("it answered nothing within {}", config::format_duration(trial_.patience)),
                      "is it an MCP server on stdio? Many are with a flag only, such as --stdio; --patience "
                      "2m waits longer");
    }
  }

  std::unique_ptr<Session> judge_era(std::unique_ptr<Session> session) {
    const char* era = modern_ ? "modern" : "legacy";
    const auto fixed = server_.protocol_era;
    if ((fixed == config::Era::modern && !modern_) ||
        (fixed == config::Era::legacy && modern_ && !speaks_legacy_too())) {
      findings_.error(
          "era",
          fmt::format("protocolEra is {}, and the server speaks {}", modern_ ? "legacy" : "modern", era),
          "protocolEra: auto");
      return session;
    }
    const json& result = session->result();
    const json& in_meta = member_of(member_of(result, "_meta"), "io.modelcontextprotocol/serverInfo");
    const std::string revision =
        modern_ ? std::string(mcp::kNewestModern)
                : fmt::format("\"{}\"", redactor_(text_of(result, "protocolVersion"), 20));
    const std::string label =
        label_of(in_meta.is_null() ? member_of(result, "serverInfo") : in_meta, redactor_);
    findings_.ok("era", fmt::format("{} {}{}{}", era, revision, label.empty() ? "" : ", ", label));
    return session;
  }

  // A server may support both eras; the configured era must be one of them.
  bool speaks_legacy_too() {
    Session other(server_, trial_, redactor_);
    return other.start() && other.ask(mcp::initialize_request(2, mcp::bare_initialize_params()), 2,
                                      trial_.patience) == Session::End::answered;
  }

  void tell_banner(Session& session) {
    if (session.banner().empty()) return;
    findings_.warning(
        "stdout", "it prints what is no JSON-RPC on stdout: " + redactor_(session.banner(), 120),
        "let it print on stderr (console.error, logging to sys.stderr); only messages belong on stdout");
  }

  void look_at_start(Session& session) {
    const auto took = session.first_answer();
    const std::string text = "its first answer came after " + spelled(took);
    const std::string name = server_.command.substr(server_.command.rfind('/') + 1);
    const bool fetches = name == "npx" || name == "uvx" || name == "bunx" || name == "pnpx";
    if (took >= server_.timeouts.startup) {
      findings_.error("startup", text,
                      fmt::format("timeouts: {{ startup: {} }}, or make it faster",
                                  config::format_duration(duration_cast<milliseconds>(took) * 2)));
    } else if (took >= kSlowStart) {
      findings_.warning("startup", text,
                        fetches
                            ? "install it once instead of fetching it at each start, or pool: { prewarm: 1 }"
                            : "pool: { prewarm: 1 } keeps a process ready; timeouts.startup is the limit");
    } else {
      findings_.ok("startup", text);
    }
  }

  void look_at_tools(Session& session) {
    json params = json::object();
    if (modern_) params["_meta"] = meta();
    const json request{
        {"jsonrpc", "2.0"}, {"id", 3}, {"method", "tools/list"}, {"params", std::move(params)}};
    const json& capabilities = member_of(session.result(), "capabilities");
    if (!capabilities.is_object() || !capabilities.contains("tools"))
      return findings_.ok("tools", "it has none");
    switch (session.ask(request.dump(), 3, trial_.patience)) {
      case Session::End::answered: {
        const json& tools = member_of(session.result(), "tools");
        more_tools_ = session.result().contains("nextCursor");
        more_tools_ = more_tools_ || tools.size() > kMaxTools;
        for (size_t i = 0; tools.is_array() && i < std::min(tools.size(), kMaxTools); ++i)
          tools_.emplace_back(text_of(tools[i], "name").substr(0, kMaxToolName));
        findings_.ok("tools", fmt::format("{}{}", tools.is_array() ? tools.size() : 0,
                                          session.result().contains("nextCursor") ? " and more" : ""));
        break;
      }
      case Session::End::refused:
        findings_.warning("tools", "it refuses tools/list", "lineward tools shows its error");
        break;
      case Session::End::exited:
        findings_.error("tools", "at tools/list " + session.exit_text(), "see to what it says");
        break;
      case Session::End::late:
        findings_.error(
            "tools",
            fmt::format("it did not answer tools/list within {}", config::format_duration(trial_.patience)),
            "see what it waits for: its stderr, a network, a lock");
        break;
    }
    tell_banner(session);
  }

  static json meta() {
    return json{{"io.modelcontextprotocol/protocolVersion", mcp::kNewestModern},
                {"io.modelcontextprotocol/clientInfo", {{"name", "lineward doctor"}, {"version", "1"}}},
                {"io.modelcontextprotocol/clientCapabilities", json::object()}};
  }

  // No call can be cancelled: the tool's name is wrong, unless another server has it.
  void tell_no_tool() {
    const std::string tool = sanitize(trial_.tool, 60);
    const std::string_view likely = config::nearest(trial_.tool, {tools_.begin(), tools_.end()});
    const std::string text = fmt::format("it has no tool '{}'", tool);
    if (!trial_.alone) return findings_.skipped("cancel", text);
    findings_.error("cancel", text,
                    likely.empty() ? "lineward tools lists them: --try-cancel TOOL"
                                   : fmt::format("--try-cancel {}", redactor_(likely, 60)));
  }

  void look_at_cancel(Session& session) {
    if (trial_.tool.empty() || session.process().end()) return;
    if (!more_tools_ && std::find(tools_.begin(), tools_.end(), trial_.tool) == tools_.end())
      return tell_no_tool();
    json params{{"name", trial_.tool}, {"arguments", trial_.arguments}};
    if (modern_) params["_meta"] = meta();
    const json request{
        {"jsonrpc", "2.0"}, {"id", 4}, {"method", "tools/call"}, {"params", std::move(params)}};
    const std::string tool = sanitize(trial_.tool, 60);
    const auto early = session.ask(request.dump(), 4, kBeforeCancel);
    if (early == Session::End::exited)
      return findings_.error("cancel", fmt::format("at {} {}", tool, session.exit_text()),
                             "see to what it says");
    if (early == Session::End::refused) {
      return findings_.skipped("cancel", fmt::format("{} was refused before it could be cancelled: {}", tool,
                                                     redactor_(session.refusal(), 120)));
    }
    if (early != Session::End::late) {
      return findings_.skipped(
          "cancel",
          fmt::format("{} was over before it could be cancelled: name one that takes longer", tool));
    }
    session.process().write_line(mcp::cancel_notification(4, "lineward doctor tries it",
                                                          modern_ ? mcp::Era::modern : mcp::Era::legacy));
    const auto begun = Clock::now();
    const auto after = session.wait_for({4}, begun + server_.timeouts.cancel_grace);
    if (after == Session::End::answered) {
      findings_.warning(
          "cancel",
          fmt::format("it ignores cancels: {} went on for {} and gave its result", tool,
                      spelled(Clock::now() - begun)),
          "let its handler look at its abort signal; cancel: kill ends such a process and starts another");
    } else if (after == Session::End::exited) {
      findings_.error("cancel", "at notifications/cancelled " + session.exit_text(),
                      "cancel: never keeps them from it");
    } else if (after == Session::End::refused) {
      findings_.ok("cancel", fmt::format("{} stopped after {}", tool, spelled(Clock::now() - begun)));
    } else {
      findings_.ok("cancel", fmt::format("{} said nothing more", tool));
    }
  }

  void look_at_end(Session& session) {
    if (session.process().end()) return;
    const milliseconds took = session.process().stop();
    if (took < server_.stop.stdin_grace)
      return findings_.ok("end", fmt::format("it ended {} after its stdin", spelled(took)));
    const std::string grace = config::format_duration(server_.stop.stdin_grace);
    if (took < server_.stop.stdin_grace + server_.stop.term_grace) {
      return findings_.warning(
          "end", fmt::format("it ignores the end of its stdin for {}, and ends by SIGTERM", grace),
          "let it end when stdin ends; stop: { stdinGrace: 0ms } saves the wait");
    }
    findings_.warning("end",
                      fmt::format("it ignores the end of its stdin for {}, and SIGTERM for {}: it was killed",
                                  grace, config::format_duration(server_.stop.term_grace)),
                      "let it end when stdin ends, and by SIGTERM");
  }

  const config::Server& server_;
  const Trial& trial_;
  const Redactor redactor_;
  Findings& findings_;
  std::vector<std::string> tools_;  // tool names; incomplete if the server has more pages
  bool more_tools_ = false;
  bool modern_ = false;
};

}  // namespace

void check_stdio_server(const config::Server& server, const Trial& trial, const char* const* own,
                        Findings& findings) {
  const std::vector<std::string> environment = config::server_environment(server, own);
  const std::string file = check_program(server, environment, findings);
  if (file.empty()) return;
  check_node(server, file, environment, findings);
  StdioCheck(server, trial, findings).run();
}

}  // namespace lineward::doctor

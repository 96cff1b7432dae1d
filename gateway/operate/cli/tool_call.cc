#include "operate/cli/tool_call.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>

#include "config/options/read_value.h"
#include "foundation/base/base64url.h"
#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"
#include "operate/cli/cells.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/prepare.h"
#include "operate/cli/terminal_questions.h"
#include "operate/cli/tool_text.h"
#include "operate/mcp_client/arguments.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::cli {
namespace {

using mcp_client::Answer;
using mcp_client::Clock;
using nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr size_t kMaxFile = 32 << 20;
constexpr int kMaxRounds = 50;  // of questions within one call
constexpr int kMaxNumbered = 10'000;
constexpr milliseconds kSilent{700};  // a quick call shows no bar
constexpr const char* kCallHelp = "lineward call --help";

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text;
  std::array<char, 65536> bytes;
  while (stream.read(bytes.data(), bytes.size()) || stream.gcount() > 0) {
    text.append(bytes.data(), static_cast<size_t>(stream.gcount()));
    if (text.size() > kMaxFile) return fail(fmt::format("{} is larger than {} MiB", name, kMaxFile >> 20));
  }
  return text;
}

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_stream(std::cin, "stdin");
  struct stat found {};
  if (stat(path.c_str(), &found) != 0)
    return fail(fmt::format("cannot read {}: {}", config::clip(path), std::strerror(errno)));
  if (S_ISDIR(found.st_mode)) return fail(fmt::format("{} is a folder", config::clip(path)));
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(fmt::format("cannot read {}: {}", config::clip(path), std::strerror(errno)));
  return read_stream(file, config::clip(path));
}

// The bar, or lines, on stderr.
class ProgressLine {
 public:
  ProgressLine(ShownProgress shown, const CommandContext& around) : shown_(shown), around_(around) {}

  mcp_client::Watch watch() {
    mcp_client::Watch watch;
    // Requested even if not shown: progress extends the timeout.
    watch.progress = [this](const json& params) {
      last_ = params;
      draw();
    };
    if (shown_ == ShownProgress::bar) watch.tick = [this] { draw(); };
    return watch;
  }
  void clear() {
    if (!std::exchange(drawn_, false)) return;
    around_.err.verbatim("\r\033[K");
    around_.err.flush();
  }

 private:
  void draw() {
    if (shown_ == ShownProgress::none) return;
    const auto elapsed = duration_cast<milliseconds>(Clock::now() - begun_);
    if (shown_ == ShownProgress::lines) {
      around_.err << progress_bar(last_, elapsed, 0) << "\n";
      around_.err.flush();
      return;
    }
    if (elapsed < kSilent) return;
    winsize size{};
    const size_t width =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79;
    drawn_ = true;
    around_.err.verbatim("\r\033[K");
    around_.err << progress_bar(last_, elapsed, width);
    around_.err.flush();
  }

  ShownProgress shown_;
  const CommandContext& around_;
  Clock::time_point begun_ = Clock::now();
  json last_ = json::object();
  bool drawn_ = false;
};

std::optional<std::string> from_base64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  while (!text.empty() && text.back() == '=')
    text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return from_base64url(text);
}

// A new file of that name; existing files are never overwritten. Empty path: `fault` has the reason.
struct Saved {
  std::string path, fault;
};
Saved save(const std::string& folder, const std::string& stem, const std::string& extension,
           const std::string& bytes) {
  for (int number = 1; number < kMaxNumbered; ++number) {
    const std::string path = fmt::format("{}/{}-{}.{}", folder, stem, number, extension);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return {{}, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
    size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t n = write(fd, bytes.data() + written, bytes.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;
      written += static_cast<size_t>(n);
    }
    const int error = errno;
    close(fd);
    if (written < bytes.size()) return {{}, fmt::format("cannot write {}: {}", path, std::strerror(error))};
    return {path, {}};
  }
  return {{}, fmt::format("{} has too many files called {}-N.{}", folder, stem, extension)};
}

// False if an attachment could not be saved.
bool keep_attachments(const ResultParts& parts, const CallOptions& options, const CommandContext& around) {
  bool kept = true;
  for (const Attachment& one : parts.attachments) {
    const std::string mime = one.mime.empty() ? "of no type" : sanitize(one.mime, 80);
    const std::string name = one.name.empty() ? "" : " " + sanitize(one.name, 200);
    auto bytes = from_base64(one.base64);
    if (!bytes) {
      around.err << fmt::format("note: {}{}, {}: it is no base64\n", one.kind, name, mime);
      continue;
    }
    if (options.output.empty()) {
      around.err << fmt::format("note: {}{}, {}, {} bytes: --output DIR saves it\n", one.kind, name, mime,
                                bytes->size());
      continue;
    }
    const Saved saved = save(options.output, file_stem(options.tool), extension_of(one.mime), *bytes);
    kept = kept && saved.fault.empty();
    around.err << (saved.fault.empty() ? fmt::format("saved {} ({}{}, {} bytes)\n",
                                                     sanitize(saved.path, 4096), mime, name, bytes->size())
                                       : "error: " + saved.fault + "\n");
  }
  return kept;
}

ExitCode print_result(const json& result, const CallOptions& options, const CommandContext& around) {
  const ResultParts parts = parts_of(result);
  if (options.raw) {
    around.out << result.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  } else if (around.out_is_terminal()) {
    around.out << terminal_text(parts.text);  // server colours could hide or imitate Lineward's text
  } else {
    around.out.verbatim(parts.text);  // unchanged for a file or a pipe
  }
  around.out.flush();
  bool kept = true;
  if (!options.raw || !options.output.empty()) kept = keep_attachments(parts, options, around);
  if (!options.raw) {
    for (const std::string& note : parts.notes)
      around.err << "note: " << terminal_text(note) << "\n";
  }
  if (parts.is_error) {
    around.err << "the tool says that it failed\n";
    return ExitCode::tool_error;
  }
  return kept ? ExitCode::ok : ExitCode::failure;
}

ExitCode code_of_signal(int signal) {
  return signal == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

ExitCode cancel_call(McpConversation& talk, const CommandContext& around) {
  const int signal = talk.interrupts().next();
  talk.client().cancel("the user pressed Ctrl-C");
  around.err << "cancelling (Ctrl-C again ends now)\n";
  around.err.flush();
  const std::string became = talk.became_of_cancel();
  if (!became.empty()) around.err << terminal_text(became);
  return code_of_signal(signal);
}

const json& object_of(const json& in, const char* key, const json& otherwise) {
  auto found = in.find(key);
  return found != in.end() && found->is_object() ? *found : otherwise;
}

json withdrawn(const json& requests) {
  json out = json::object();
  for (auto it = requests.begin(); it != requests.end(); ++it)
    out[it.key()] = json{{"action", "cancel"}};
  return out;
}

ExitCode nobody_answered(const std::string& questions, const CommandContext& around) {
  around.err << "error: the tool asked a question that could not be answered here: " << questions
             << "\n  fix    call it on a terminal, where its question can be answered\n";
  return ExitCode::failure;
}

// The arguments, or an exit code after the error was printed.
std::variant<json, ExitCode> arguments_for(const CallOptions& options, McpConversation& talk,
                                           const CommandContext& around) {
  mcp_client::ToolList list = mcp_client::list_tools(talk.client());
  if (list.failed.kind != Answer::Kind::result) return report_no_answer(list.failed, talk, around);
  const json* tool = find_tool(list.tools, options.tool);
  // If the list is incomplete, the server decides whether the tool exists.
  if (tool == nullptr && !list.cut) {
    talk.add_held(list.missing);
    around.err << "error: " << terminal_text(no_such_tool(list.tools, options.tool)) << "\n  where  "
               << talk.where() << "\n  fix    lineward tools lists what there is\n"
               << missing_notes(list.missing);
    return ExitCode::failure;
  }
  const json none = json::object();
  const json& schema = tool != nullptr ? object_of(*tool, "inputSchema", none) : none;
  auto arguments = mcp_client::with_words(options.arguments, options.words, schema, read_file);
  if (!arguments)
    return bad_usage(around.err, arguments.error().text,
                     "lineward tools --schema TOOL, " + std::string(kCallHelp));
  const std::vector<std::string> lacking = mcp_client::missing(*arguments, schema);
  if (lacking.empty()) return *arguments;
  if (lacking.size() == 1) {
    around.err << "error: missing argument: " << terminal_text(lacking[0]) << "\n";
  } else {
    around.err << fmt::format("error: missing arguments of {}\n", config::clip(options.tool));
    for (const std::string& line : lacking)
      around.err << "  " << terminal_text(line) << "\n";
  }
  around.err << "  help: lineward tools --schema " << config::clip(options.tool) << "\n";
  return ExitCode::usage;
}

}  // namespace

ShownProgress progress_of(bool quiet, bool wanted, const CommandContext& around) {
  if (quiet) return ShownProgress::none;
  if (around.err_is_terminal() && around.variable("TERM") != "dumb") return ShownProgress::bar;
  return wanted ? ShownProgress::lines : ShownProgress::none;
}

Result<json> given_arguments(const std::string& text) {
  if (text.empty()) return json(json::object());
  std::string whole = text;
  if (text == "-") {
    auto read = read_file("-");
    if (!read) return fail("--json: " + read.error().text);
    whole = std::move(*read);
  }
  json value = lineward::json::parse_document(whole);
  if (value.is_discarded())
    return fail("--json: this is no JSON; in a shell it stands in single quotes: --json '{\"a\": 1}'");
  if (!value.is_object()) return fail("--json: write an object: --json '{\"a\": 1}'");
  return value;
}

Status<> usable_folder(const std::string& folder) {
  if (folder.empty()) return Done{};
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0)
    return fail(fmt::format("--output {}: {}", config::clip(folder), std::strerror(errno)));
  if (!S_ISDIR(found.st_mode)) return fail(fmt::format("--output {} is no folder", config::clip(folder)));
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(fmt::format("--output {}: {}", config::clip(folder), std::strerror(errno)));
  return Done{};
}

ExitCode report_no_answer(const Answer& answer, McpConversation& talk, const CommandContext& around) {
  if (answer.kind == Answer::Kind::interrupted) return code_of_signal(talk.interrupts().next());
  if (answer.kind == Answer::Kind::lost) {
    around.err << "error: " << terminal_text(answer.why) << "\n  where  " << talk.where()
               << "\n  fix    -v shows what happened\n";
    return ExitCode::failure;
  }
  ErrorReport fault = fault_of(answer.body);
  around.err << "error: " << fault.message << "\n  where  " << talk.where() << "\n";
  // A private gateway's call id belongs to another call at the running one.
  const bool known = talk.asks_running_gateway() && fault.server != kRunningGateway && !fault.call_id.empty();
  if (!fault.reason.empty())
    around.err << fmt::format("  reason {}{}\n", fault.reason, known ? "   call " + fault.call_id : "");
  if (fault.reason == mcp::name(mcp::EndReason::upstream_unreachable) && talk.is_held())
    fault.fix = fmt::format("lineward server {} start", talk.upstream());
  if (fault.reason == mcp::name(mcp::EndReason::forbidden) && !talk.has_credentials())
    fault.fix =
        "a rule of the gateway refuses it to every caller; the line call.end of its log names it (policy)";
  if (!fault.fix.empty()) around.err << "  fix    " << fault.fix << "\n";
  return fault.exit;
}

ExitCode call_tool(const CallOptions& options, McpConversation& talk, const CommandContext& around) {
  auto arguments = arguments_for(options, talk, around);
  if (auto* code = std::get_if<ExitCode>(&arguments)) return *code;
  json params{{"name", options.tool}, {"arguments", std::move(std::get<json>(arguments))}};
  TerminalQuestions questions(talk.interrupts(), around);
  ProgressLine progress(options.progress, around);
  std::string unanswered;
  int withdrawal = 0;  // the signal received instead of an answer
  for (int round = 0; round < kMaxRounds; ++round) {
    Answer answer = talk.client().ask("tools/call", params, progress.watch());
    progress.clear();
    if (withdrawal != 0) return code_of_signal(withdrawal);
    if (answer.kind == Answer::Kind::interrupted) return cancel_call(talk, around);
    if (answer.kind != Answer::Kind::result) return report_no_answer(answer, talk, around);
    auto asked = answer.body.find("inputRequests");
    if (text_of(answer.body, "resultType") != "input_required" || asked == answer.body.end() ||
        !asked->is_object()) {
      const ExitCode code = print_result(answer.body, options, around);
      return unanswered.empty() ? code : nobody_answered(unanswered, around);
    }
    // The missing terminal was already reported.
    if (!unanswered.empty()) return nobody_answered(unanswered, around);
    if (!questions.can_ask()) unanswered = questions_text(*asked);
    auto responses = questions.answer(*asked);
    if (!responses) {
      withdrawal = talk.interrupts().next();
      // No user reads the question: a cancelled answer lets the tool end the call.
      around.err << "\ncancelling (Ctrl-C again ends now)\n";
      responses = withdrawn(*asked);
    }
    params["inputResponses"] = std::move(*responses);
    params.erase("requestState");
    if (auto state = answer.body.find("requestState"); state != answer.body.end())
      params["requestState"] = *state;
  }
  around.err << fmt::format("error: the tool has asked {} times\n", kMaxRounds);
  return ExitCode::failure;
}

}  // namespace lineward::cli

#include "operate/cli/tool_commands.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "config/options/read_value.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/mcp_conversation.h"
#include "operate/cli/prepare.h"
#include "operate/cli/server_flags.h"
#include "operate/cli/tool_call.h"
#include "operate/cli/tool_text.h"

namespace lineward::cli {
namespace {

using mcp_client::Answer;
using nlohmann::json;

constexpr const char* kToolsFooter =
    "Without a server, lists the tools of the running gateway as its clients see them.\n"
    "\n"
    "Examples\n"
    "  lineward tools\n"
    "  lineward tools github --admin unix:/run/lineward/admin.sock\n"
    "  lineward tools https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward tools --schema echo -- npx -y @modelcontextprotocol/server-everything";
constexpr const char* kCallFooter =
    "The tool's inputSchema gives each value its type: n=3, on=true, list=a list=b, object='{\"a\":1}'.\n"
    "The text of a file: text=@file; the text \"@a\": text=@@a. With --json all arguments are one object,\n"
    "to which NAME=VALUE adds. The text of the result goes to stdout.\n"
    "\n"
    "Ctrl-C cancels the call and prints what the server did then; a second Ctrl-C ends at once. Exit\n"
    "codes: 5 if the tool reports a failure, 124 after a timeout, 69 if the server cannot be reached,\n"
    "130 after Ctrl-C.\n"
    "\n"
    "Examples\n"
    "  lineward call echo message=hi\n"
    "  lineward call search query=timeouts limit=5 --upstream github\n"
    "  lineward call create_issue --json '{\"title\":\"It hangs\",\"labels\":[\"bug\"]}' body=@issue.txt\n"
    "  lineward call get-sum a=1 b=2 -- npx -y @modelcontextprotocol/server-everything\n"
    "  lineward call search query=x --url https://mcp.example.com/mcp --token-file ~/.token";

Style style_for(const std::string& color, const CommandContext& around) {
  Style style;
  const bool terminal = around.out_is_terminal();
  style.colour = around.wants_colour(color, terminal);
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

std::string pretty(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

ExitCode list_tools(ToolFlags& flags, McpConversation& talk, const Style& style,
                    const CommandContext& around) {
  mcp_client::ToolList list = mcp_client::list_tools(talk.client());
  if (list.failed.kind != Answer::Kind::result) return report_no_answer(list.failed, talk, around);
  talk.add_held(list.missing);
  if (!flags.schema.empty()) {
    const json* tool = find_tool(list.tools, flags.schema);
    if (tool == nullptr) {
      around.err << "error: " << no_such_tool(list.tools, flags.schema) << "\n"
                 << missing_notes(list.missing);
      return ExitCode::failure;
    }
    around.out << terminal_text(pretty(tool->value("inputSchema", json::object())));
    return ExitCode::ok;
  }
  const size_t shown = list.tools.size();
  if (flags.format == "json") {
    around.out << terminal_text(pretty(json{{"tools", std::move(list.tools)}}));
  } else if (list.tools.empty()) {
    around.err << "the server has no tools\n";
  } else {
    around.out << tools_text(list.tools, style);
  }
  around.err << missing_notes(list.missing);
  if (list.cut) around.err << fmt::format("note: only the first {} tools are shown\n", shown);
  return ExitCode::ok;
}

// The argument of `tools`: a URL, a file, or a server's name.
void take_named(ToolFlags& flags) {
  if (flags.named.empty()) return;
  Flags& server = flags.target.server;
  std::string& place = names_url(flags.named)                                 ? server.url
                       : flags.named.find_first_of("./") != std::string::npos ? server.config
                                                                              : server.server;
  place = std::exchange(flags.named, {});
}

}  // namespace

void add_tools(CLI::App& app, ToolFlags& flags) {
  CLI::App* tools = app.add_subcommand("tools", "Lists the tools of the running gateway, or of a server.");
  tools->add_option("SERVER", flags.named, "A server of the running gateway, a URL, or a configuration file")
      ->type_name("");
  add_target(*tools, flags.target);
  tools->add_option("--format", flags.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  tools->add_option("--schema", flags.schema, "Prints the inputSchema of this tool alone")->type_name("TOOL");
  tools->add_flag("-q,--quiet", flags.target.server.quiet, "Log less");
  tools->footer(kToolsFooter);
  CLI::App* call = app.add_subcommand("call", "Calls a tool of the running gateway, or of a server.");
  call->add_option("TOOL", flags.tool, "Its name, as lineward tools shows it")->type_name("");
  call->add_option("ARGUMENTS", flags.words, "Its arguments, NAME=VALUE each, typed by its schema")
      ->type_name("");
  add_target(*call, flags.target);
  call->add_option("--json", flags.json, "All arguments as one JSON object; - reads it from stdin")
      ->type_name("OBJECT");
  call->add_option("--format", flags.format, "text, or json: the result exactly as the server sent it")
      ->check(CLI::IsMember({"text", "json"}));
  call->add_option("--output", flags.output, "Saves images, sounds and files of the result in this folder")
      ->type_name("DIR");
  call->add_flag("--progress", flags.progress, "Print progress even if stderr is not a terminal");
  call->add_flag("-q,--quiet", flags.target.server.quiet, "Print no progress");
  call->footer(kCallFooter);
}

bool is_tool_command(std::string_view command) {
  return command == "tools" || command == "call";
}

ExitCode run_tool_command(std::string_view command, ToolFlags flags, const GatewayStarter& start,
                          std::string_view version, const CommandContext& around) {
  const bool calls = command == "call";
  const std::string help = fmt::format("lineward {} --help", command);
  flags.target.server.help = help;
  take_named(flags);
  CallOptions options;
  if (calls) {
    if (flags.tool.empty()) return bad_usage(around.err, "name a tool; lineward tools lists them", help);
    if (flags.tool.find('=') != std::string::npos)
      return bad_usage(around.err, "the tool's name comes first: lineward call TOOL name=value", help);
    auto given = given_arguments(flags.json);
    if (!given) return bad_usage(around.err, given.error().text, help);
    options = {flags.tool,   std::move(*given),
               flags.words,  flags.format == "json",
               flags.output, progress_of(flags.target.server.quiet, flags.progress, around)};
    if (auto folder = usable_folder(flags.output); !folder)
      return bad_usage(around.err, folder.error().text, help);
  }
  const Style style = style_for(flags.target.server.color, around);
  auto target = find_target(flags.target, around);
  if (auto* code = std::get_if<ExitCode>(&target)) return *code;
  // A terminal can ask form questions; the user opens URLs.
  json capabilities = json::object();
  if (calls) capabilities["elicitation"] = json{{"form", json::object()}, {"url", json::object()}};
  auto talk =
      McpConversation::begin(std::move(std::get<Target>(target)), start, version, std::move(capabilities));
  if (!talk) {
    around.err << "error: " << talk.error().text << "\n";
    return ExitCode::internal;
  }
  const ExitCode code = calls ? call_tool(options, **talk, around) : list_tools(flags, **talk, style, around);
  around.out.flush();
  (*talk)->end();
  return code;
}

}  // namespace lineward::cli

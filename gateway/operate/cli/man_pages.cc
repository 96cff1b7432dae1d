#include "operate/cli/man_pages.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "config/options/auth_options.h"
#include "config/options/options.h"

namespace lineward::cli {
namespace {

// Escapes dashes, backslashes and leading dots for roff.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

std::string title(std::string_view name, int section, std::string_view version) {
  return fmt::format(".TH {} {} \"\" \"Lineward {}\" \"Lineward\"\n", name, section, version);
}

std::string preformatted(std::string_view text) {
  return fmt::format(".nf\n{}\n.fi\n", roff(text));
}

std::string names_of(const CLI::Option& option) {
  std::string out;
  for (const std::string& name : option.get_snames())
    out += fmt::format("{}\\fB\\-{}\\fR", out.empty() ? "" : ", ", roff(name));
  for (const std::string& name : option.get_lnames())
    out += fmt::format("{}\\fB\\-\\-{}\\fR", out.empty() ? "" : ", ", roff(name));
  if (out.empty()) out = fmt::format("\\fI{}\\fR", roff(option.get_name(true)));
  if (option.get_items_expected_max() > 0 && !option.get_type_name().empty())
    out += fmt::format(" \\fI{}\\fR", roff(option.get_type_name()));
  return out;
}

struct Exit {
  int code;
  std::string_view meaning;
};
constexpr Exit kExits[] = {
    {0, "ended as asked"},
    {1, "a runtime failure that is none of these"},
    {2, "bad command line"},
    {5, "the tool said that it failed (call)"},
    {69, "no running gateway was found; a server that was required is gone or could not be started"},
    {70, "an internal error"},
    {75, "the address is in use"},
    {77, "not permitted: to bind, to read the configuration, or to change something (admin.readOnly)"},
    {78, "the configuration is invalid"},
    {124, "a wait ran out of time"},
    {130, "stopped at once by a second SIGINT; tools, call: by the first"},
    {143, "stopped at once by a second SIGTERM; tools, call: by the first"},
};

}  // namespace

std::string man_page_of_commands(const CLI::App& app, std::string_view version) {
  std::string out = title("LINEWARD", 1, version);
  out += ".SH NAME\nlineward \\- gateway for the Model Context Protocol\n";
  out += ".SH SYNOPSIS\n.B lineward\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\-\\- \\fISERVER COMMAND\\fR ...]\n";
  out +=
      ".SH DESCRIPTION\nLineward stands between MCP clients and MCP servers. Abandoned work is stopped, "
      "every call has a time limit, many servers look like one, and clients and servers of both "
      "protocol eras "
      "understand each other.\n";
  out += ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    out += fmt::format(".SS lineward {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group().empty()) continue;
      out += fmt::format(".TP\n{}\n{}\n", names_of(*option), roff(option->get_description()));
    }
    if (!command->get_footer().empty()) out += ".PP\n" + preformatted(command->get_footer());
  }
  out += ".SH EXIT STATUS\n";
  for (const Exit& exit : kExits)
    out += fmt::format(".TP\n.B {}\n{}\n", exit.code, roff(exit.meaning));
  out +=
      ".SH SIGNALS\nSIGHUP reads the configuration again. SIGINT and SIGTERM drain; a second one stops at "
      "once. SIGUSR1 "
      "opens log files anew.\n";
  out +=
      ".SH ENVIRONMENT\n.TP\n.B LINEWARD_CONFIG\nThe configuration file, unless the command line names "
      "one.\n.TP\n"
      ".B LINEWARD_ADMIN_ADDRESS\nThe control socket for commands.\n.TP\n.B LINEWARD_*\nOptions: see "
      "lineward.yaml(5).\n.TP\n.B NO_COLOR, CLICOLOR_FORCE\nNo colour, or colour where there is no "
      "terminal.\n";
  out +=
      ".SH "
      "FILES\n.nf\n\\&./lineward.yaml\n$XDG_CONFIG_HOME/lineward/lineward.yaml\n/etc/lineward/lineward.yaml\n"
      "$XDG_RUNTIME_DIR/lineward/PID.sock, /run/lineward/PID.sock, /tmp/lineward\\-UID/PID.sock\n.fi\n";
  out += ".SH SEE ALSO\n.BR lineward.yaml (5)\n";
  return out;
}

std::string man_page_of_configuration(std::string_view version) {
  std::string out = title("LINEWARD.YAML", 5, version);
  out += ".SH NAME\nlineward.yaml \\- configuration of lineward(1)\n";
  out +=
      ".SH DESCRIPTION\nYAML, or JSON with comments; the\n.I mcpServers\nmaps that clients use are "
      "understood as they are. "
      "\\fI${env:NAME}\\fR, \\fI${file:/path}\\fR and \\fI${NAME:\\-else}\\fR are replaced in values. An "
      "option's "
      "environment variable outranks the file, a flag of the command line outranks both.\n";
  out += ".PP\nDurations have units (ms, s, m, h, d), sizes may (B, KiB, MiB, GiB).\n.SH EXAMPLE\n";
  out += preformatted(
      "listen: { address: 127.0.0.1:8000 }\n"
      "mcpServers:\n"
      "  time: { command: uvx, args: [mcp-server-time] }\n"
      "  search: { url: https://mcp.example.com/mcp, timeouts: { request: 30s } }");
  out += ".SH OPTIONS\n";
  for (const auto& [group, rows] : {std::pair("auth.", &config::auth_options()),
                                    {"auth.resourceMetadata.", &config::metadata_options()}}) {
    for (const config::Option& option : *rows)
      out += fmt::format(".TP\n.B {}\n{}\n", roff(std::string(group) + std::string(option.path)),
                         roff(option.help));
  }
  for (const config::Option& option : config::options()) {
    const std::string key = option.per_server() ? "mcpServers.NAME." + option.key() : option.key();
    out += fmt::format(".TP\n.B {}\n{}\n", roff(key), roff(option.help));
    std::string facts;
    if (!option.fallback.empty()) facts += fmt::format(" Default {}.", option.fallback);
    const bool is_count = option.kind == config::Kind::count;
    if (!option.choices.empty())
      facts += (is_count ? " A number, or " : " One of ") + std::string(option.choices) + ".";
    if (!option.env_name().empty()) facts += fmt::format(" {}.", option.env_name());
    if (option.inherited()) facts += " May stand under defaults too.";
    if (!facts.empty()) out += roff(facts.substr(1)) + "\n";
  }
  out += ".SH SEE ALSO\n.BR lineward (1)\n";
  return out;
}

}  // namespace lineward::cli

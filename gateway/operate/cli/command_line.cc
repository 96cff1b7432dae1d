#include "operate/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "config/options/names.h"
#include "config/options/options.h"
#include "config/options/options_text.h"
#include "config/options/read_value.h"
#include "operate/admin/metric_table.h"
#include "operate/admin/openapi.h"
#include "operate/cli/adapt_command.h"
#include "operate/cli/audit_command.h"
#include "operate/cli/console_command.h"
#include "operate/cli/control_commands.h"
#include "operate/cli/copy_self.h"
#include "operate/cli/doctor_command.h"
#include "operate/cli/flags.h"
#include "operate/cli/foreign_options.h"
#include "operate/cli/hash_key.h"
#include "operate/cli/healthcheck.h"
#include "operate/cli/help_topics.h"
#include "operate/cli/list_commands.h"
#include "operate/cli/prepare.h"
#include "operate/cli/reference_commands.h"
#include "operate/cli/server_flags.h"
#include "operate/cli/stdio_command.h"
#include "operate/cli/tail_command.h"
#include "operate/cli/tool_commands.h"
#include "operate/cli/top_command.h"
#include "operate/doctor/program_file.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

constexpr std::string_view kOverview =
    "Lineward is a gateway for MCP servers: no call hangs, and calls of lost clients are cancelled.\n"
    "\n"
    "  lineward run -- npx -y @modelcontextprotocol/server-everything\n"
    "  lineward run --listen :8000 --timeout 2m -- uvx mcp-server-time\n"
    "  lineward run claude_desktop_config.json\n"
    "\n"
    "Commands\n"
    "  run        run the gateway in the foreground   lineward run --help\n"
    "  stdio      run the gateway on stdin and stdout, for one client   lineward stdio --help\n"
    "  validate   check a configuration, and start nothing (also -t)\n"
    "  status     show the running gateway on one screen; console shows it in a browser\n"
    "  ps         list its calls in flight            lineward ps --help\n"
    "  cancel     cancel a call                       lineward cancel c9f2 --reason \"wrong repo\"\n"
    "  reload     read its configuration again        lineward reload --dry-run\n"
    "  tools      list the tools of the running gateway, or of a server   lineward tools URL\n"
    "  call       call a tool                         lineward call echo message=hi\n"
    "  doctor     find faults of a configuration, its servers and this machine\n"
    "  top, tail, servers, server, sessions, subs   watch the running gateway, and control its servers\n"
    "  audit      verify an audit log                 lineward audit verify FILE…\n"
    "  adapt, init, fmt   convert a client's file; write a first configuration; sort a file's members\n"
    "  help, options   explain a command, an option, a plugin or an error   lineward help timeouts\n"
    "  hash-key   make a caller's key; healthcheck, copy-self: for containers\n"
    "  schema, completion, man, metrics, openapi   print files for editors, shells and other programs\n"
    "  version    print the version\n";

constexpr const char* kRunFooter =
    "Without FILE and without -- the configuration is the first of these that is set or exists: --config,\n"
    "LINEWARD_CONFIG, ./lineward.yaml, $XDG_CONFIG_HOME/lineward/lineward.yaml,\n"
    "/etc/lineward/lineward.yaml.\n"
    "\n"
    "Examples\n"
    "  lineward run -- npx -y @modelcontextprotocol/server-everything\n"
    "  lineward run --listen 127.0.0.1:9000 -e GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github\n"
    "  lineward run --listen unix:/run/lineward/mcp.sock --timeout 30s -- uvx mcp-server-git\n"
    "  lineward run --url https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward run /etc/lineward/lineward.yaml\n"
    "  lineward run ~/.cursor/mcp.json --log-format json\n"
    "\n"
    "These options of other proxies work too, with a notice: --stdio \"uvx mcp-server-git\", --port 8000,\n"
    "--streamableHttpPath /mcp, --outputTransport streamableHttp or sse, --logLevel debug,\n"
    "--mcp-config mcp.json, --named-server-config mcp.json.";

constexpr const char* kValidateFooter =
    "Prints each error with its place and ends with 78, or prints ok and ends with 0. Starts nothing.\n"
    "\n"
    "Examples\n"
    "  lineward validate\n"
    "  lineward validate --strict /etc/lineward/lineward.yaml\n"
    "  lineward -t mcp.json\n"
    "  cat mcp.json | lineward validate -";

constexpr const char* kVersionFooter = "Examples\n  lineward version\n  lineward version --format json";
constexpr const char* kHelpFooter =
    "Examples\n  lineward help run\n  lineward help timeouts\n  lineward help auth\n  lineward help "
    "rateLimit\n"
    "  lineward help timeout_request\n  lineward help options";

const std::vector<std::string_view> kCommands = {
    "run",      "stdio",       "validate", "help",       "version", "options",  "ps",      "cancel",
    "status",   "reload",      "audit",    "servers",    "server",  "sessions", "subs",    "tail",
    "top",      "tools",       "call",     "adapt",      "init",    "fmt",      "doctor",  "console",
    "hash-key", "healthcheck", "schema",   "completion", "man",     "metrics",  "openapi", "copy-self"};

bool is_command(std::string_view word) {
  return std::find(kCommands.begin(), kCommands.end(), word) != kCommands.end();
}

// CLI11 knows nothing of the part behind `--`. From 2.5 on it also breaks lines again, drops the indent of
// examples and aligns long options in a column of their own: help looks alike with every version.
class Usage : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const std::string footer = app->get_footer();
    return fmt::format("{}\n{}{}{}{}\n{}{}", app->get_description(), make_usage(app, std::move(name)),
                       make_positionals(app), make_groups(app, mode), make_subcommands(app, mode), footer,
                       footer.empty() ? "" : "\n");
  }

  std::string make_group(std::string group, bool positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == "OPTIONS") group = "Options";
    if (group == "POSITIONALS") group = "Positionals";
    return CLI::Formatter::make_group(std::move(group), positional, std::move(options));
  }

  std::string make_option(const CLI::Option* option, bool positional) const override {
    const std::string left = "  " + make_option_name(option, positional) + make_option_opts(option);
    const std::string text = make_option_desc(option);
    const size_t width = get_column_width();
    const std::string gap =
        left.size() < width ? std::string(width - left.size(), ' ') : "\n" + std::string(width, ' ');
    return fmt::format("{}{}{}\n", left, gap, text);
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string name = app->get_name();
    std::string rest = name == "run"        ? "[OPTIONS] [FILE] [-- COMMAND ARGS…]"
                       : name == "stdio"    ? "[OPTIONS] [URL | FILE] [-- COMMAND ARGS…]"
                       : name == "validate" ? "[OPTIONS] [FILE]"
                       : name == "help"     ? "[TOPIC]"
                       : name == "ps"       ? "[OPTIONS] [ID]"
                       : name == "cancel"   ? "[OPTIONS] ID…"
                       : name == "audit"    ? "verify [OPTIONS] FILE…"
                       : name == "adapt"    ? "[OPTIONS] FILE"
                       : name == "init"     ? "[OPTIONS] [FILE]"
                       : name == "fmt"      ? "[OPTIONS] [FILE]"
                       : name == "server"
                           ? "[OPTIONS] NAME [start | stop | restart | drain] | add NAME [-- COMMAND ARGS…]"
                       : name == "tools"      ? "[OPTIONS] [SERVER | URL | FILE] [-- COMMAND ARGS…]"
                       : name == "call"       ? "[OPTIONS] TOOL [NAME=VALUE…] [-- COMMAND ARGS…]"
                       : name == "doctor"     ? "[OPTIONS] [FILE] [-- COMMAND ARGS…]"
                       : name == "hash-key"   ? "[--new] NAME [SCOPE…]"
                       : name == "completion" ? "SHELL"
                       : name == "man"        ? "[PAGE]"
                       : name == "copy-self"  ? "DIR"
                                              : "[OPTIONS]";
    return fmt::format("Usage: lineward {} {}\n", name, rest);
  }
};

void add_common(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "The configuration file, YAML or JSON")->type_name("FILE");
  app.add_option("--color", flags.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("-q,--quiet", flags.quiet, "Log less: level warn");
  app.add_flag("-v,--verbose", flags.verbose, "Log more: level debug");
}

CLI::App* add_run(CLI::App& app, Flags& flags) {
  CLI::App* run = app.add_subcommand("run", "Runs the gateway in the foreground.");
  run->add_option("FILE", flags.file, "Configuration, ours or a client's mcp.json; - is stdin")
      ->type_name("");
  auto text = [run](const char* name, std::string& target, const char* help, const char* type) {
    return run->add_option(name, target, help)->type_name(type);
  };
  text("-l,--listen", flags.listen, "127.0.0.1:8000, :8000 (every interface), [::1]:8000, unix:/path, stdio",
       "ADDR");
  text("--path", flags.path, "The MCP path (/mcp)", "PATH");
  text("--timeout", flags.timeout, "A call ends after this long without answer and progress (60s)", "DUR");
  text("--max-duration", flags.max_duration, "The longest duration of a call, progress or not (10m)", "DUR");
  text("--name", flags.name, "The server's name; by default derived from its command or host", "NAME");
  text("--url", flags.url, "A server that speaks HTTP: http://…, https://… or unix:/socket[:/path]", "URL");
  add_headers(*run, flags);
  text("--server", flags.server, "With --listen stdio: the only server of FILE that is served", "NAME");
  run->add_option("-e,--env", flags.env, "K=V for the server; K alone takes the value from the environment")
      ->type_name("K[=V]")
      ->allow_extra_args(false);
  text("--cwd", flags.cwd, "The server's working directory", "DIR");
  text("--isolation", flags.isolation, "auto, shared, session, principal or call", "WORD");
  text("--protocol-era", flags.protocol_era, "auto, legacy or modern", "WORD");
  run->add_flag("--exit-with-upstream", flags.exit_with_upstream, "End when the server ends");
  run->add_flag("--exit-with-parent", flags.exit_with_parent,
                "End when the process that started this one ends");
  run->add_flag("--watch", flags.watch,
                "Read FILE again when it changes; without it, SIGHUP and lineward reload do that");
  run->add_flag("--tls-self-signed", flags.tls_self_signed,
                "Use TLS with clients; a certificate for localhost is made at each start");
  text("--log-format", flags.log_format, "auto, text, logfmt or json", "WORD");
  text("--log-level", flags.log_level, "debug, info, warn or error", "WORD");
  text("--ops", flags.ops, "Probes and metrics: 127.0.0.1:9464, :9464, unix:/path, off", "ADDR|off");
  text("--admin", flags.admin,
       "The admin API of ps, cancel and status: unix:/path, auto, off; HOST:PORT: there too", "ADDR|off");
  add_common(*run, flags);
  for (auto& [name, target] :
       {std::pair("--stdio", &flags.stdio), std::pair("--port", &flags.port),
        std::pair("--streamableHttpPath", &flags.http_path),
        std::pair("--outputTransport", &flags.output_transport),
        std::pair("--logLevel", &flags.their_log_level), std::pair("--mcp-config", &flags.mcp_config),
        std::pair("--named-server-config", &flags.named_config)}) {
    run->add_option(name, *target)->group("");
  }
  run->footer(kRunFooter);
  return run;
}

CLI::App* add_validate(CLI::App& app, Flags& flags) {
  CLI::App* validate = app.add_subcommand("validate", "Checks a configuration and starts nothing.");
  validate->add_option("FILE", flags.file, "The file; - is stdin; without it, the usual search")
      ->type_name("");
  validate->add_flag("--strict", flags.strict, "Warnings fail too");
  add_common(*validate, flags);
  validate->footer(kValidateFooter);
  return validate;
}

CLI::App* add_small(CLI::App& app, const char* name, const char* about, Flags& flags, const char* formats,
                    const char* footer) {
  CLI::App* small = app.add_subcommand(name, about);
  small->add_option("--format", flags.format, formats)->type_name("WORD");
  if (footer != nullptr) small->footer(footer);
  return small;
}

// CLI11 must not see the part after `--`, and needs the command first: `lineward --config F validate` works
// too.
struct Split {
  std::vector<std::string> words;   // without argv[0], command first
  std::vector<std::string> server;  // behind --
  bool has_server = false;
};

Split split(int argc, const char* const* argv) {
  Split split;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (split.has_server) {
      split.server.push_back(std::move(word));
    } else if (word == "--") {
      split.has_server = true;
    } else {
      split.words.push_back(std::move(word));
    }
  }
  std::vector<std::string>& words = split.words;
  size_t at = 0;
  while (at < words.size() && !words[at].empty() && words[at][0] == '-') {
    bool takes_value = words[at] == "--config" || words[at] == "--color" || words[at] == "--admin";
    bool global = takes_value || words[at] == "-q" || words[at] == "-v" || words[at] == "--quiet" ||
                  words[at] == "--verbose" || words[at].rfind("--config=", 0) == 0 ||
                  words[at].rfind("--color=", 0) == 0;
    if (!global) break;
    at += takes_value ? 2 : 1;
  }
  at = std::min(at, words.size());
  auto here = words.begin() + static_cast<std::ptrdiff_t>(at);
  if (here != words.end() && (*here == "-t" || is_command(*here))) {
    std::rotate(words.begin(), here, here + 1);
    if (words[0] == "-t") words[0] = "validate";
    return split;
  }
  bool only_options =
      here == words.end() ? split.has_server || at > 0 : (*here)[0] == '-' && here->size() > 1;
  bool about_us =
      here != words.end() && (*here == "-h" || *here == "--help" || *here == "-V" || *here == "--version");
  // supergateway's users write no command word.
  if (only_options && !about_us) words.insert(words.begin(), "run");
  return split;
}

// The words from `at` on are the server's command, including the part behind a later -- of its own.
void take_command(Split& split, std::optional<size_t> at) {
  if (!at) return;
  auto begin = split.words.begin() + static_cast<std::ptrdiff_t>(*at);
  std::vector<std::string> command(std::make_move_iterator(begin),
                                   std::make_move_iterator(split.words.end()));
  split.words.erase(begin, split.words.end());
  if (split.has_server) command.emplace_back("--");
  for (std::string& word : split.server)
    command.push_back(std::move(word));
  split.server = std::move(command);
  split.has_server = true;
}

ExitCode unknown_command(const std::string& word, const CommandContext& around) {
  bool file = word.find('.') != std::string::npos || word.find('/') != std::string::npos;
  std::string shown = config::clip(word);
  if (names_url(word))
    return bad_usage(
        around.err,
        fmt::format("'{0}' is no command; to serve it: lineward run --url {0}", url_to_show(word)),
        "lineward help");
  if (file)
    return bad_usage(around.err, fmt::format("'{0}' is no command; to run it: lineward run {0}", shown),
                     "lineward help");
  std::string_view likely = config::nearest(word, kCommands);
  std::string hint = likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely);
  // npx, uvx, docker …: the user means to serve a command.
  if (likely.empty() && !doctor::found_in(word, around.variable("PATH")).empty())
    hint = fmt::format("; to serve what it starts: lineward run -- {} …", shown);
  return bad_usage(around.err, fmt::format("'{}' is no command of Lineward{}", shown, hint), "lineward help");
}

// The name of an option may be shown, other words may not.
bool is_option_name(std::string_view word) {
  return word.size() > 2 && word.size() <= 40 && word.substr(0, 2) == "--" &&
         std::all_of(word.begin() + 2, word.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '2';
         });
}

// An argument that CLI11 rejected: an unknown option, or an extra word.
ExitCode unknown_argument(const CLI::App& command, const std::string& word, const Flags& flags, Screen& err) {
  std::string help = fmt::format("lineward {} --help", command.get_name());
  const std::string given = word.substr(0, word.find('='));
  if (const std::string_view instead = instead_of(given); !instead.empty())
    return bad_usage(err,
                     fmt::format("'{}' is not an option of {}; {}{}", given, command.get_name(),
                                 instead.rfind("not needed", 0) == 0 ? "it is " : "write ", instead),
                     help);
  if (!flags.headers.empty() && !is_option_name(given)) {
    // -H Authorization: Bearer abc, without quotes: the extra word is the secret.
    return bad_usage(err, "there is a word or an option too many; write -H 'Name: value', with the quotes",
                     help);
  }
  if (word.empty() || word[0] != '-') {
    std::string advice =
        command.get_name() == "run" || command.get_name() == "stdio"
            ? fmt::format("; a server's command goes behind --: lineward {} -- npx …", command.get_name())
            : "";
    return bad_usage(err, fmt::format("'{}' is one word too many{}", config::clip(word), advice), help);
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  std::string_view likely = config::nearest(given, std::vector<std::string_view>(names.begin(), names.end()));
  // lineward run npx -y …: the option is the server's.
  const bool has_command = likely.empty() && flags.headers.empty() && flags.url.empty() &&
                           command.get_name() == "run" && !flags.file.empty() && flags.file != "-" &&
                           flags.file.find_first_of("./") == std::string::npos &&
                           ::access(flags.file.c_str(), F_OK) != 0;
  if (has_command) {
    return bad_usage(err,
                     fmt::format("'{}' is not an option of run; a server's command goes behind --: "
                                 "lineward run -- {} {} …",
                                 config::clip(given), config::clip(flags.file), config::clip(given)),
                     help);
  }
  std::string hint = likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely);
  return bad_usage(
      err, fmt::format("'{}' is not an option of {}{}", config::clip(given), command.get_name(), hint), help);
}

ExitCode print_version(const Flags& flags, std::string_view version, const CommandContext& around) {
  if (flags.format == "json") {
    around.out << fmt::format("{{\"name\":\"lineward\",\"version\":\"{}\"}}\n", version);
  } else if (flags.format.empty() || flags.format == "text") {
    around.out << fmt::format("lineward {}\n", version);
  } else {
    return bad_usage(around.err, "--format is text or json", "lineward version --help");
  }
  return ExitCode::ok;
}

ExitCode print_options(const Flags& flags, const CommandContext& around) {
  if (flags.format != "yaml" && !flags.format.empty() && flags.format != "text") {
    return bad_usage(around.err, "--format is text or yaml", "lineward help options");
  }
  around.out << (flags.format == "yaml" ? config::options_yaml() : config::options_help("options"));
  return ExitCode::ok;
}

ExitCode print_help(const CLI::App& app, const std::string& topic, const CommandContext& around) {
  if (topic.empty()) {
    around.out << kOverview;
    return ExitCode::ok;
  }
  return print_topic(app, kCommands, topic, around);
}

}  // namespace

std::variant<Invocation, ExitCode> parse_command_line(int argc, const char* const* argv,
                                                      std::string_view version, const config::EnvLookup& env,
                                                      std::ostream& to_out, std::ostream& to_err,
                                                      const GatewayStarter& start) {
  Screen out(to_out), err(to_err);
  CommandContext around{env, out, err};
  Split words = split(argc, argv);
  if (words.words.empty()) {
    err << kOverview;
    return ExitCode::usage;
  }
  const std::string first = words.words[0];
  Flags flags;
  std::string topic;
  CLI::App app("", "lineward");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(0, 1);  // `help run` is a topic, `run version` a file: not two commands
  app.formatter(std::make_shared<Usage>());
  CLI::App* run = add_run(app, flags);
  CLI::App* stdio = add_stdio(app, flags);
  add_common(*stdio, flags);
  CLI::App* validate_command = add_validate(app, flags);
  CLI::App* version_command =
      add_small(app, "version", "Prints the version.", flags, "text or json", kVersionFooter);
  CLI::App* options =
      add_small(app, "options", "Prints the table of options.", flags, "text or yaml", nullptr);
  CLI::App* help =
      app.add_subcommand("help", "Explains a command, options, a plugin, or the reason of an error.");
  help->add_option("TOPIC", topic,
                   "A command; options, auth, plugins, a group or the name of an option; a reason")
      ->type_name("");
  help->footer(kHelpFooter);
  ControlFlags control;
  add_control(app, control);
  ListFlags lists;
  add_lists(app, lists);
  TailFlags following;
  add_tail(app, following);
  TopFlags screen;
  add_top(app, screen);
  ConsoleFlags console_flags;
  add_console(app, console_flags);
  HashKeyFlags key;
  add_hash_key(app, key);
  AdaptFlags adapt_flags;
  add_adapt(app, adapt_flags);
  AuditFlags audit_flags;
  add_audit(app, audit_flags);
  HealthcheckFlags health;
  add_healthcheck(app, health);
  ToolFlags tools;
  add_tools(app, tools);
  CopySelfFlags copy;
  add_copy_self(app, copy);
  DoctorFlags doctor;
  add_doctor(app, doctor);
  ReferenceFlags reference;
  add_reference(app, reference);
  app.add_subcommand("metrics", "Prints the table of metrics: docs/metrics.md.");
  app.add_subcommand("openapi", "Prints the admin API as an OpenAPI 3.1 document: docs/admin-api.json.");
  if (first == "-h" || first == "--help") return print_help(app, "", around);
  if (first == "-V" || first == "--version") return print_version(flags, version, around);
  if (!is_command(first)) return unknown_command(first, around);

  CLI::App* command = app.get_subcommand(first);
  command->allow_extras();
  if (command == stdio) take_command(words, command_without_dashes(*stdio, words.words, env));
  try {
    std::vector<std::string> reversed(words.words.rbegin(), words.words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    out << command->help();
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    return bad_usage(err, error.what(), fmt::format("lineward {} --help", first));
  }
  if (!command->remaining().empty()) return unknown_argument(*command, command->remaining()[0], flags, err);
  if (words.has_server && command != run && command != stdio && first != "doctor" && first != "server" &&
      !is_tool_command(first)) {
    return bad_usage(err, "only run, stdio, tools, call, doctor and server add take a command behind --",
                     fmt::format("lineward {} --help", first));
  }
  flags.has_server = words.has_server;
  flags.server_words = std::move(words.server);
  if (is_tool_command(first)) {
    tools.target.server.has_server = flags.has_server;
    tools.target.server.server_words = std::move(flags.server_words);
    return run_tool_command(first, std::move(tools), start, version, around);
  }
  if (first == "server") {
    lists.edit.server.has_server = flags.has_server;
    lists.edit.server.server_words = std::move(flags.server_words);
  }
  if (first == "doctor") {
    doctor.server.has_server = flags.has_server;
    doctor.server.server_words = std::move(flags.server_words);
    return run_doctor(std::move(doctor), around);
  }
  if (command == stdio) return prepare_stdio(std::move(flags), around);
  if (command == run) return prepare_run(std::move(flags), around);
  if (command == validate_command) return validate(flags, around);
  if (is_control(first)) return run_control(first, control, around);
  if (is_list(first)) return run_list(first, lists, around);
  if (first == "tail") return tail(following, around);
  if (first == "top") return top(screen, around);
  if (first == "console") return console(console_flags, around);
  if (first == "healthcheck") return healthcheck(health, around);
  if (first == "copy-self") return copy_self(copy, around);
  if (is_reference(first)) return run_reference(first, app, reference, version, around);
  if (is_adapt(first)) return run_adapt(first, adapt_flags, around);
  if (first == "audit") return run_audit(audit_flags, around);
  if (first == "hash-key") return hash_key(key, std::cin, out, err);
  if (first == "metrics") {
    out << admin::metrics_page(plugins::registry());
    return ExitCode::ok;
  }
  if (first == "openapi") {
    out << admin::openapi_text(std::string(version));
    return ExitCode::ok;
  }
  if (command == version_command) return print_version(flags, version, around);
  if (command == options) return print_options(flags, around);
  return print_help(app, topic, around);
}

}  // namespace lineward::cli

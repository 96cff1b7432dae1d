#include "operate/cli/stdio_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "operate/cli/server_flags.h"

namespace lineward::cli {
namespace {

constexpr const char* kStdioFooter =
    "A client that only starts processes can start this command to use any server. It reads and writes\n"
    "MCP of both eras on stdin and stdout, 2024-11-05 included; warnings and errors go to stderr. After\n"
    "the end of stdin it answers the requests that it has read, and exits.\n"
    "\n"
    "Examples\n"
    "  lineward stdio https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward stdio http://127.0.0.1:3000/mcp --timeout 2m\n"
    "  lineward stdio /etc/lineward/lineward.yaml --server github\n"
    "  lineward stdio --timeout 30s -- uvx mcp-server-git\n"
    "  lineward stdio --start onUse -- npx -y @example/slow-server\n"
    "  lineward stdio --share --linger 10m /etc/lineward/lineward.yaml\n"
    "\n"
    "Some clients remove the --, so the command works without it: lineward stdio uvx mcp-server-git. All\n"
    "words after the program belong to the command. If a configuration file has the program's name, the\n"
    "file is used.\n"
    "\n"
    "In a client's file\n"
    "  { \"command\": \"lineward\", \"args\": [\"stdio\", \"https://mcp.example.com/mcp\"] }";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool is_file(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

bool can_run(const std::string& path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

// A URL, a configuration file name or a non-executable file is not a program.
bool is_program(const std::string& word, const config::EnvLookup& env) {
  if (word.empty() || names_url(word)) return false;
  for (std::string_view end : {".yaml", ".yml", ".json", ".jsonc"}) {
    if (ends_with(word, end)) return false;
  }
  if (word.find('/') != std::string::npos) return can_run(word);
  if (is_file(word)) return false;
  const std::optional<std::string> path = env ? env("PATH") : std::nullopt;
  for (std::string_view rest = path ? std::string_view(*path) : std::string_view(); !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.empty() && can_run(std::string(folder) + "/" + word)) return true;
  }
  return false;
}

// Whether this Lineward option takes the next word as its value.
bool takes_next(const CLI::App& app, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const bool glued = word.size() > 2 && word[1] != '-';  // -eNAME=VALUE
  const CLI::Option* option = app.get_option_no_throw(word);
  return !glued && option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

std::optional<size_t> command_without_dashes(const CLI::App& app, const std::vector<std::string>& words,
                                             const config::EnvLookup& env) {
  for (size_t at = 1; at < words.size(); ++at) {
    if (words[at].size() > 1 && words[at][0] == '-') {
      at += takes_next(app, words[at]) ? 1 : 0;
      continue;
    }
    return is_program(words[at], env) ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

void add_headers(CLI::App& app, Flags& flags) {
  app.add_option("-H,--header", flags.headers,
                 "A header for the server at a URL: -H 'Name: value'. Other users can read it in ps: write "
                 "secrets as "
                 "-H 'Authorization: Bearer ${env:TOKEN}' or '${file:/path}', in single quotes")
      ->type_name("'K: V'")
      ->allow_extra_args(false);
}

void add_server_command(CLI::App& app, Flags& flags) {
  app.add_option("-e,--env", flags.env,
                 "K=V for the server behind --; K alone takes the value from the environment")
      ->type_name("K[=V]")
      ->allow_extra_args(false);
  app.add_option("--cwd", flags.cwd, "The working directory of the server behind --")->type_name("DIR");
}

CLI::App* add_stdio(CLI::App& app, Flags& flags) {
  CLI::App* stdio = app.add_subcommand("stdio", "Serves one client on stdin and stdout.");
  auto text = [stdio](const char* name, std::string& target, const char* help, const char* type) {
    stdio->add_option(name, target, help)->type_name(type);
  };
  stdio->add_option("TARGET", flags.file, "A URL (http://…, https://…, unix:/…) or a configuration file")
      ->type_name("");
  add_headers(*stdio, flags);
  text("--server", flags.server, "The only server of FILE that is served", "NAME");
  text("--start", flags.start,
       "boot, or onUse: the server starts with the first request, which may be answered from its last run",
       "WORD");
  text("--timeout", flags.timeout, "A call ends after this long without answer and progress (60s)", "DUR");
  text("--max-duration", flags.max_duration, "The longest duration of a call, progress or not (10m)", "DUR");
  text("--name", flags.name, "The server's name; by default derived from its command or host", "NAME");
  add_server_command(*stdio, flags);
  text("--protocol-era", flags.protocol_era, "auto, legacy or modern", "WORD");
  text("--log-format", flags.log_format, "auto, text, logfmt or json", "WORD");
  text("--log-level", flags.log_level, "debug, info, warn or error (warn)", "WORD");
  stdio->add_flag("--share", flags.share,
                  "Share one gateway, and its servers, with other clients that give the same arguments");
  text("--linger", flags.linger, "With --share: keep the gateway this long after the last client (0s)",
       "DUR");
  stdio->footer(kStdioFooter);
  stdio->add_option("--ops", flags.ops, "Probes and metrics, off unless given: 127.0.0.1:9464")
      ->type_name("ADDR|off");
  stdio
      ->add_option("--admin", flags.admin,
                   "The control socket for ps, cancel and status, off unless given, but auto with --share: "
                   "unix:/path, auto, off")
      ->type_name("ADDR|off");
  return stdio;
}

}  // namespace lineward::cli

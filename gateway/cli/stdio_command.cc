#include "cli/stdio_command.h"

namespace lineward::cli {
namespace {

constexpr const char* kFooter =
    "The stdio server of a client that only starts processes, in front of any server: stdin and stdout speak "
    "MCP of\n"
    "both eras, 2024-11-05 included; stderr gets warnings and errors. The end of stdin ends everything.\n"
    "\n"
    "Examples\n"
    "  lineward stdio https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward stdio http://127.0.0.1:3000/mcp --timeout 2m\n"
    "  lineward stdio /etc/lineward/lineward.yaml --server github\n"
    "  lineward stdio --timeout 30s -- uvx mcp-server-git\n"
    "\n"
    "In a client's file\n"
    "  { \"command\": \"lineward\", \"args\": [\"stdio\", \"https://mcp.example.com/mcp\"] }";

}  // namespace

void add_headers(CLI::App& app, Flags& flags) {
  app.add_option(
         "-H,--header", flags.headers,
         "A header for the server at a URL: -H 'Name: value'. Everybody can read it in ps: write secrets as "
         "-H 'Authorization: Bearer ${env:TOKEN}' or '${file:/path}', in single quotes")
      ->type_name("'K: V'")
      ->allow_extra_args(false);
}

CLI::App* add_stdio(CLI::App& app, Flags& flags) {
  CLI::App* stdio = app.add_subcommand("stdio", "Serves one client on stdin and stdout.");
  auto text = [stdio](const char* name, std::string& target, const char* help, const char* type) {
    stdio->add_option(name, target, help)->type_name(type);
  };
  stdio->add_option("TARGET", flags.file, "A URL (http://…, https://…, unix:/…) or a configuration file")
      ->type_name("");
  add_headers(*stdio, flags);
  text("--server", flags.server, "Which server of FILE, where it has several", "NAME");
  text("--timeout", flags.timeout, "No answer and no progress for this long (60s)", "DUR");
  text("--max-duration", flags.max_duration, "The hard end of a call (10m)", "DUR");
  text("--name", flags.name, "The server's name; else derived from its command or host", "NAME");
  stdio
      ->add_option("-e,--env", flags.env,
                   "K=V for the server behind --; only K takes it from the environment")
      ->type_name("K[=V]")
      ->allow_extra_args(false);
  text("--cwd", flags.cwd, "The working directory of the server behind --", "DIR");
  text("--protocol-era", flags.protocol_era, "auto, legacy or modern", "WORD");
  text("--log-format", flags.log_format, "auto, text, logfmt or json", "WORD");
  text("--log-level", flags.log_level, "debug, info, warn or error (warn)", "WORD");
  stdio->footer(kFooter);
  stdio->add_option("--ops", flags.ops, "Probes and metrics, off unless given: 127.0.0.1:9464")
      ->type_name("ADDR|off");
  stdio
      ->add_option("--admin", flags.admin,
                   "Where ps, cancel and status ask, off unless given: unix:/path, auto")
      ->type_name("ADDR|off");
  return stdio;
}

}  // namespace lineward::cli

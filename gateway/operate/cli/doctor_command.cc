#include "operate/cli/doctor_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "config/auth_blocks.h"
#include "config/duration.h"
#include "config/reader/load.h"
#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"
#include "operate/admin/control_path.h"
#include "operate/cli/cells.h"
#include "operate/cli/control_client.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/prepare.h"
#include "operate/cli/server_flags.h"
#include "operate/cli/stdio_command.h"
#include "operate/doctor/checks.h"
#include "plugins/registry.h"
#include "protocol/mcp/probe.h"

extern char** environ;

namespace lineward::cli {
namespace {

using doctor::CheckStatus;
using doctor::Finding;
using doctor::Findings;
using nlohmann::json;

constexpr const char* kDoctorHelp = "lineward doctor --help";
constexpr const char* kDoctorFooter =
    "Reads the configuration, checks this machine, and starts each server for a moment. No process is\n"
    "left running. Ends with 1 if there is a fault, and with 0 if there is none or there are only\n"
    "warnings.\n"
    "\n"
    "Examples\n"
    "  lineward doctor\n"
    "  lineward doctor mcp.json --server github\n"
    "  lineward doctor -- npx -y @modelcontextprotocol/server-everything\n"
    "  lineward doctor --try-cancel 'search {\"query\":\"x\"}' -- uvx mcp-server-git\n"
    "  lineward doctor --url https://mcp.example.com/mcp -H 'Authorization: Bearer ${env:TOKEN}'\n"
    "  lineward doctor https://mcp.example.com/mcp --idle 2m";

const char* word_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::ok: return "ok";
    case CheckStatus::warning: return "warning";
    case CheckStatus::error: return "fault";
    case CheckStatus::skipped: return "skipped";
  }
  return "";
}

// Prints the findings of each subject when it is done, or keeps them for JSON.
class Report {
 public:
  Report(bool as_json, bool colour, const CommandContext& around)
      : as_json_(as_json), colour_(colour), around_(around) {}

  void take(const std::string& subject, const Findings& findings) {
    if (!as_json_) around_.out << paint(subject, "1", colour_) << "\n";
    for (const Finding& one : findings.all()) {
      faults_ += one.status == CheckStatus::error ? 1 : 0;
      doubts_ += one.status == CheckStatus::warning ? 1 : 0;
      if (as_json_) {
        json line{{"subject", one.subject},
                  {"check", one.check},
                  {"status", word_of(one.status)},
                  {"text", one.text}};
        if (!one.where.empty()) line["where"] = one.where;
        if (!one.fix.empty()) line["fix"] = one.fix;
        lines_.push_back(std::move(line));
      } else {
        around_.out << finding_text(one, colour_);
      }
    }
    around_.out.flush();
  }

  ExitCode end() {
    if (as_json_) {
      const json all{
          {"ok", faults_ == 0}, {"faults", faults_}, {"warnings", doubts_}, {"checks", std::move(lines_)}};
      around_.out << all.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    } else if (faults_ + doubts_ == 0) {
      around_.out << "nothing is wrong\n";
    } else {
      around_.out << fmt::format("{} fault{}, {} warning{}\n", faults_, faults_ == 1 ? "" : "s", doubts_,
                                 doubts_ == 1 ? "" : "s");
    }
    around_.out.flush();
    return faults_ == 0 ? ExitCode::ok : ExitCode::failure;
  }

 private:
  bool as_json_;
  bool colour_;
  const CommandContext& around_;
  json lines_ = json::array();
  int faults_ = 0;
  int doubts_ = 0;
};

void tell_diagnostics(const config::LoadResult& loaded, Findings& findings) {
  for (const config::Diagnostic& one : loaded.diagnostics) {
    std::string where = sanitize(loaded.name);
    if (one.line > 0) where += fmt::format(":{}:{}", one.line, one.column);
    if (!one.origin.empty()) where = sanitize(one.origin);
    std::string fix = !one.hint.empty() ? one.hint : one.note;
    if (fix.empty() && loaded.unreadable) fix = "name a file that can be read: lineward doctor FILE";
    if (fix.empty()) fix = "lineward validate shows the line";
    if (one.severity == config::Severity::error)
      findings.error("config", sanitize(one.message, 500), sanitize(fix, 300), where);
    if (one.severity == config::Severity::warning)
      findings.warning("config", sanitize(one.message, 500), sanitize(fix, 300), where);
  }
}

std::vector<doctor::RunningGateway> running_gateways() {
  std::vector<doctor::RunningGateway> out;
  for (const std::string& socket : admin::live_sockets()) {
    auto status = ask(socket, "/api/v1/status");
    if (!status || status->status != 200) continue;
    std::string url = text_of(status->body, "url");
    if (const size_t scheme = url.find("://"); scheme != std::string::npos) url.erase(0, scheme + 3);
    const char end = url.rfind("unix:", 0) == 0 ? '#' : '/';  // ends the address, before its path
    out.push_back({url.substr(0, url.find(end)), number_of(status->body, "pid")});
  }
  return out;
}

constexpr std::chrono::milliseconds kMostIdle = mcp::kMaxProbeTime;

Result<doctor::FrontTrial> front_trial_of(const DoctorFlags& flags) {
  auto idle = config::parse_duration(flags.idle);
  if (!idle) return fail("--idle: " + idle.error().text);
  if (*idle > kMostIdle) return fail("--idle: at most " + config::format_duration(kMostIdle));
  doctor::FrontTrial trial;
  trial.idle = *idle;
  return trial;
}

Result<doctor::Trial> trial_of(const DoctorFlags& flags) {
  doctor::Trial trial;
  auto patience = config::parse_duration(flags.patience);
  if (!patience) return fail("--patience: " + patience.error().text);
  trial.patience = *patience;
  const size_t end = flags.cancel.find_first_of(" {");
  trial.tool = flags.cancel.substr(0, end);
  const size_t begin = flags.cancel.find('{');
  if (begin == std::string::npos) return trial;
  trial.arguments = lineward::json::parse_document(flags.cancel.substr(begin));
  if (!trial.arguments.is_object()) return fail("--try-cancel: write TOOL, or 'TOOL {\"name\": \"value\"}'");
  return trial;
}

}  // namespace

std::string finding_text(const Finding& finding, bool colour) {
  const auto [mark, code] = finding.status == CheckStatus::ok        ? std::pair("✓", "32")
                            : finding.status == CheckStatus::warning ? std::pair("!", "33")
                            : finding.status == CheckStatus::error   ? std::pair("✗", "31")
                                                                     : std::pair("–", "2");
  std::string out = fmt::format("  {} {:<11} {}\n", paint(mark, code, colour), finding.check, finding.text);
  if (!finding.where.empty()) out += fmt::format("      where {}\n", finding.where);
  if (!finding.fix.empty()) out += fmt::format("      fix   {}\n", finding.fix);
  return out;
}

void add_doctor(CLI::App& app, DoctorFlags& flags) {
  CLI::App* command =
      app.add_subcommand("doctor", "Says what is wrong with a configuration, its servers and this machine.");
  Flags& server = flags.server;
  command
      ->add_option("FILE", server.file,
                   "The configuration (without it, the usual search), or a URL as with --url; if a Lineward "
                   "serves that URL, its proxies in front are tested too")
      ->type_name("");
  auto text = [&](const char* name, std::string& target, const char* help, const char* type) {
    command->add_option(name, target, help)->type_name(type);
  };
  text("--config", server.config, "The configuration file", "FILE");
  text("--server", server.server, "Only this one of its servers", "NAME");
  text("--url", server.url, "A server that speaks HTTP, instead of a configuration", "URL");
  add_headers(*command, server);
  add_server_command(*command, server);
  text("--patience", flags.patience, "How long each answer of a server is waited for (20s)", "DUR");
  text("--idle", flags.idle, "How long quiet streams are, with a URL for FILE (20s; 0s: none)", "DUR");
  text("--try-cancel", flags.cancel, "Calls this tool of each server and cancels it: TOOL, or 'TOOL {…}'",
       "CALL");
  command->add_option("--format", flags.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->add_option("--color", server.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->footer(kDoctorFooter);
}

ExitCode run_doctor(DoctorFlags flags, const CommandContext& around) {
  Flags& given = flags.server;
  auto trial = trial_of(flags);
  if (!trial) return bad_usage(around.err, trial.error().text, kDoctorHelp);
  if (!given.file.empty() && !given.config.empty())
    return bad_usage(around.err, "the configuration is named twice", kDoctorHelp);
  auto front = front_trial_of(flags);
  if (!front) return bad_usage(around.err, front.error().text, kDoctorHelp);
  front->patience = trial->patience;
  const bool tries_front = names_url(given.file);
  if (tries_front) {
    if (!given.url.empty()) return bad_usage(around.err, "the URL is given twice", kDoctorHelp);
    given.url = std::exchange(given.file, {});
  }
  config::LoadOptions load;
  load.env = around.env;
  load.plugins = &plugins::specs();
  const bool has_server = given.has_server || !given.url.empty();
  std::string fault = misplaced_server_flag(given);
  if (fault.empty() && has_server) fault = add_server_of_flags(given, load);
  if (!fault.empty()) return bad_usage(around.err, fault, kDoctorHelp);

  Report report(flags.format == "json", around.wants_colour(given.color, around.out_is_terminal()), around);
  const bool named = !given.file.empty() || !given.config.empty();
  const std::string file = named || !has_server ? configuration_file(given, around) : std::string();
  const config::LoadResult loaded =
      file.empty() ? config::load_text("", "command line", load) : config::load_file(file, load);
  Findings about_config("config");
  tell_diagnostics(loaded, about_config);
  if (loaded.ok() && !file.empty()) {
    about_config.ok("config", fmt::format("{}: {} server{}", sanitize(file), loaded.config.servers.size(),
                                          loaded.config.servers.size() == 1 ? "" : "s"));
  } else if (loaded.ok() && !has_server) {
    about_config.warning("config", "there is no configuration; looked for " + searched_places(around),
                         "name one: lineward doctor FILE; or a command: lineward doctor -- COMMAND");
  }
  if (!about_config.all().empty()) report.take("config", about_config);
  if (!loaded.ok()) return report.end();

  Findings about_machine("machine");
  doctor::check_machine(loaded.config, running_gateways(), about_machine);
  report.take("machine", about_machine);
  config::each_auth(loaded.config, [&](const config::Auth& auth) {
    for (const config::PluginEntry& entry : auth.methods) {
      Findings about(entry.name);
      doctor::check_token_keys(entry, trial->patience, about);
      if (!about.all().empty()) report.take(entry.name, about);
    }
  });
  bool found = given.server.empty();
  trial->alone = !given.server.empty() || loaded.config.servers.size() == 1;
  for (const config::Server& server : loaded.config.servers) {
    if (!given.server.empty() && server.name != given.server) continue;
    found = true;
    Findings about(server.name);
    if (server.disabled) {
      about.skipped("server", "it is disabled");
    } else if (server.url.empty()) {
      doctor::check_stdio_server(server, *trial, environ, about);
    } else {
      doctor::check_http_server(server, trial->patience, about);
      if (tries_front && !about.has_fault()) doctor::check_front(server, *front, about);
    }
    report.take(server.name, about);
  }
  if (!found)
    return bad_usage(around.err,
                     fmt::format("the configuration has no server '{}'", sanitize(given.server, 64)),
                     kDoctorHelp);
  return report.end();
}

}  // namespace lineward::cli

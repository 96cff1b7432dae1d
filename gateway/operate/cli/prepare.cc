#include "operate/cli/prepare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "config/duration.h"
#include "config/options/names.h"
#include "config/options/options.h"
#include "config/options/plugin_spec.h"
#include "config/options/read_value.h"
#include "config/reader/load.h"
#include "config/reader/report.h"
#include "operate/cli/server_flags.h"
#include "operate/cli/shell_words.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

constexpr const char* kStdio = "stdio";

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

// --- words of other gateways ---

void notice(const CommandContext& around, std::string_view given, std::string_view read_as) {
  around.err << fmt::format("note: {} is read as {}\n", given, read_as);
}

bool is_for_a_shell(std::string_view word) {
  static constexpr std::array<std::string_view, 10> kWords{"&&", "||", "|", ";",  "&",
                                                           ">",  ">>", "<", "2>", "2>&1"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Empty, or the error.
std::string take_aliases(Flags& flags, const CommandContext& around) {
  if (!flags.stdio.empty()) {
    if (flags.has_server) return "--stdio and a command behind -- are the same thing: give one of them";
    Result<std::vector<std::string>> words = split_words(flags.stdio);
    if (!words) return fmt::format("--stdio: {}", words.error().text);
    flags.server_words = *words;
    flags.has_server = true;
    std::string shown;
    bool for_a_shell = false;
    for (const std::string& word : *words) {
      bool plain = !word.empty() && word.find_first_of(" \t\n") == std::string::npos;
      shown += plain ? " " + word : fmt::format(" '{}'", word);
      for_a_shell = for_a_shell || is_for_a_shell(word);
    }
    if (for_a_shell)
      around.err
          << "warning: --stdio has what only a shell understands (&&, |, ;, >): no shell reads it here\n"
             "  fix    lineward run -- sh -c '…'\n";
    notice(around, "--stdio", fmt::format("--{} (split by blanks and quotes; no shell)", shown));
  }
  if (!flags.port.empty()) {
    if (!flags.listen.empty()) return "--port and --listen are the same thing: give one of them";
    flags.listen = "127.0.0.1:" + flags.port;
    notice(around, "--port " + flags.port,
           fmt::format("--listen {}; --listen :{} is every interface", flags.listen, flags.port));
  }
  if (!flags.http_path.empty()) {
    if (!flags.path.empty()) return "--streamableHttpPath and --path are the same thing: give one of them";
    flags.path = flags.http_path;
    notice(around, "--streamableHttpPath", "--path " + flags.path);
  }
  if (!flags.output_transport.empty()) {
    if (flags.output_transport == "sse") {
      notice(around, "--outputTransport sse",
             "listen.legacySse: true, /sse beside the path of Streamable HTTP");
    } else if (flags.output_transport == "streamableHttp") {
      notice(around, "--outputTransport streamableHttp", "what happens anyway");
    } else {
      return fmt::format("--outputTransport {} is not supported: streamableHttp and sse are",
                         config::clip(flags.output_transport));
    }
  }
  if (!flags.their_log_level.empty()) {
    if (!flags.log_level.empty()) return "--logLevel and --log-level are the same thing: give one of them";
    flags.log_level = flags.their_log_level == "none" ? "error" : flags.their_log_level;
    notice(around, "--logLevel", "--log-level " + flags.log_level);
  }
  for (auto [given, word] : {std::pair(&flags.mcp_config, "--mcp-config"),
                             std::pair(&flags.named_config, "--named-server-config")}) {
    if (given->empty()) continue;
    if (!flags.config.empty())
      return fmt::format("{} and --config are the same thing: give one of them", word);
    flags.config = *given;
    notice(around, word, "--config " + flags.config);
  }
  return {};
}

// --- flags as settings ---

std::vector<config::Setting> settings_of(const Flags& flags) {
  const std::string log_level = !flags.log_level.empty()                ? flags.log_level
                                : flags.verbose                         ? "debug"
                                : flags.quiet && flags.listen != kStdio ? "warn"
                                                                        : "";
  std::vector<config::Setting> settings = {
      {"listen.address", flags.listen, "--listen"},
      {"listen.path", flags.path, "--path"},
      {"listen.legacySse", flags.output_transport == "sse" ? "true" : "", "--outputTransport"},
      {"mcpServers.*.start", flags.start, "--start"},
      {"mcpServers.*.timeouts.request", flags.timeout, "--timeout"},
      {"mcpServers.*.timeouts.maxDuration", flags.max_duration, "--max-duration"},
      {"mcpServers.*.isolation", flags.isolation, "--isolation"},
      {"mcpServers.*.protocolEra", flags.protocol_era, "--protocol-era"},
      {"ops.address", flags.ops, "--ops"},
      {"admin.address", flags.admin, "--admin"},
      {"log.format", flags.log_format, "--log-format"},
      {"log.level", log_level, "--log-level"},
      {"reload.watch", flags.watch ? "true" : "", "--watch"},
      {"listen.tls.selfSigned", flags.tls_self_signed ? "true" : "", "--tls-self-signed"},
  };
  settings.erase(std::remove_if(settings.begin(), settings.end(),
                                [](const config::Setting& setting) { return setting.text.empty(); }),
                 settings.end());
  return settings;
}

// Empty, or the error: a bad flag is an error of the command line, not of the configuration.
std::string fault_of(const config::Setting& setting) {
  const config::Option* option = config::find_option(setting.path);
  if (option == nullptr) return {};
  Result<config::Value, config::Misfit> value = config::read_value(*option, setting.text);
  config::Misfit misfit;
  if (!value) {
    misfit = value.error();
  } else if (Result<Done, config::Misfit> checked = config::check_value(*option, *value, setting.text);
             !checked) {
    misfit = checked.error();
  } else {
    return {};
  }
  std::string hint = misfit.hint.empty() ? "" : fmt::format(" ({})", misfit.hint);
  const bool port = !setting.text.empty() && setting.text.size() <= 5 &&
                    setting.text.find_first_not_of("0123456789") == std::string::npos;
  const bool address = setting.path.size() > 8 && setting.path.substr(setting.path.size() - 8) == ".address";
  if (port && address)
    return fmt::format("{0} {1}: did you mean 127.0.0.1:{1}, or :{1} (every interface)?", setting.origin,
                       setting.text);
  return fmt::format("{}: {}{}", setting.origin, misfit.message, hint);
}

// --- the configuration file ---

std::vector<std::string> search_path(const CommandContext& around) {
  std::vector<std::string> places = {"./lineward.yaml"};
  std::string config_home = around.variable("XDG_CONFIG_HOME");
  std::string home = around.variable("HOME");
  if (config_home.empty() && !home.empty()) config_home = home + "/.config";
  if (!config_home.empty()) places.push_back(config_home + "/lineward/lineward.yaml");
  places.push_back("/etc/lineward/lineward.yaml");
  return places;
}

std::string find_config(const Flags& flags, const CommandContext& around) {
  if (!flags.file.empty()) return flags.file;
  if (!flags.config.empty()) return flags.config;
  std::string named = around.variable("LINEWARD_CONFIG");
  if (!named.empty()) return named;
  std::vector<std::string> places = search_path(around);
  auto found = std::find_if(places.begin(), places.end(), exists);
  return found == places.end() ? std::string() : *found;
}

std::string nothing_found(const CommandContext& around) {
  return fmt::format(
      "there is no configuration; looked for {}\n  name one:  lineward run /etc/lineward/lineward.yaml\n"
      "  or do without:  lineward run -- npx -y @modelcontextprotocol/server-everything",
      searched_places(around));
}

ExitCode exit_code_of(const config::LoadResult& result) {
  if (result.ok()) return ExitCode::ok;
  return result.not_permitted ? ExitCode::no_permission : ExitCode::bad_config;
}

void print_findings(const config::LoadResult& result, const Flags& flags, const CommandContext& around) {
  for (const config::Diagnostic& diagnostic : result.diagnostics) {
    if (flags.quiet && diagnostic.severity == config::Severity::info) continue;
    around.err << result.report_of(diagnostic, around.wants_colour(flags.color, around.err_is_terminal()));
  }
}

// For a reload: repeats prepare_run's processing of the file.
config::LoadResult load_again(const std::string& file, config::LoadOptions options, const std::string& server,
                              std::set<std::string> running) {
  options.look_at_plugins = false;
  options.running = std::move(running);
  config::LoadResult result = config::load_file(file, options);
  if (!result.ok() || result.config.listen.address != kStdio) return result;
  std::string fault = choose_server(server, result.config);
  if (fault.empty()) return result;
  config::Diagnostic diagnostic;
  diagnostic.code = "no-server";
  diagnostic.message = fault;
  result.diagnostics.push_back(std::move(diagnostic));
  return result;
}

}  // namespace

std::string searched_places(const CommandContext& around) {
  return fmt::format("{}", fmt::join(search_path(around), ", "));
}

std::string configuration_file(const Flags& flags, const CommandContext& around) {
  return find_config(flags, around);
}

ExitCode bad_usage(Screen& err, const std::string& message, const std::string& help_command) {
  err << "error: " << message << "\n";
  if (!help_command.empty()) err << "  help: " << help_command << "\n";
  return ExitCode::usage;
}

namespace {

constexpr std::chrono::milliseconds kLongestLinger = std::chrono::hours(24 * 7);

// The words that may make a difference; those of colours and of the way to the gateway do not.
std::vector<std::pair<std::string, std::string>> words_of(const Flags& flags) {
  std::vector<std::pair<std::string, std::string>> out{{"FILE", flags.file},
                                                       {"--config", flags.config},
                                                       {"URL", flags.url},
                                                       {"--server", flags.server},
                                                       {"--start", flags.start},
                                                       {"--timeout", flags.timeout},
                                                       {"--max-duration", flags.max_duration},
                                                       {"--name", flags.name},
                                                       {"--cwd", flags.cwd},
                                                       {"--protocol-era", flags.protocol_era},
                                                       {"--log-format", flags.log_format},
                                                       {"--log-level", flags.log_level},
                                                       {"--ops", flags.ops},
                                                       {"--admin", flags.admin},
                                                       {"-v", flags.verbose ? "yes" : ""}};
  for (const std::string& header : flags.headers)
    out.emplace_back("-H", header);
  for (const std::string& variable : flags.env)
    out.emplace_back("-e", variable);
  for (const std::string& word : flags.server_words)
    out.emplace_back("--", word);
  return out;
}

std::string absolute(const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();
  return error ? path : whole;
}

// The plugins read these files themselves.
std::vector<std::string> files_of_plugins(const config::Config& config) {
  std::vector<std::string> out;
  for (const config::PluginEntry& entry : config.plugins) {
    auto add = [&](const std::string& text) {
      if (!text.empty()) out.push_back(entry.path_of(text));
    };
    add(entry.path);
    for (const auto& [option, text] : entry.raw)
      add(text);
    const config::PluginSpec* spec = config::find_spec(plugins::specs(), entry.type);
    if (spec == nullptr) continue;
    for (const config::Option& option : spec->options) {
      const config::Value* value = entry.values.find(option.path);
      if (value == nullptr) continue;
      add(value->text);
      for (const std::string& one : value->list)
        add(one);
      for (const auto& [key, text] : value->map)
        add(text);
    }
  }
  return out;
}

// The same gateway for the same configuration, whatever variables were looked up for it.
std::variant<Invocation, ExitCode> prepare_shared(Flags flags, const CommandContext& around) {
  ShareRequest share;
  if (!flags.linger.empty()) {
    auto linger = config::parse_duration(flags.linger);
    if (!linger) return bad_usage(around.err, "--linger: " + linger.error().text, flags.help);
    if (*linger > kLongestLinger)
      return bad_usage(around.err, "--linger: it is 7d (168h) at most", flags.help);
    share.linger = *linger;
  }
  // A relative path would be another file in another directory.
  const bool named_once = flags.file.empty() || flags.config.empty();
  if (flags.url.empty() && !flags.has_server && named_once && flags.file != "-" && flags.config != "-") {
    flags.file = absolute(find_config(flags, around));
    flags.config.clear();
  }
  auto looked_up = std::make_shared<std::map<std::string, std::optional<std::string>>>();
  const config::EnvLookup recorded = [&around, looked_up](std::string_view name) {
    auto value = around.env ? around.env(name) : std::nullopt;
    looked_up->insert_or_assign(std::string(name), value);
    return value;
  };
  const CommandContext noting{recorded, around.out, around.err};
  share.words = words_of(flags);
  auto prepared = prepare_run(std::move(flags), noting);
  auto* invocation = std::get_if<Invocation>(&prepared);
  if (invocation == nullptr) return prepared;
  share.files = std::move(invocation->files);
  invocation->files.clear();
  invocation->load = nullptr;
  // They belong to the terminal, not to the configuration.
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE"})
    looked_up->erase(name);
  share.looked_up = *looked_up;
  share.named = files_of_plugins(invocation->config);
  invocation->share = std::move(share);
  return prepared;
}

}  // namespace

std::variant<Invocation, ExitCode> prepare_stdio(Flags flags, const CommandContext& around) {
  flags.listen = kStdio;
  flags.help = "lineward stdio --help";
  if (!flags.linger.empty() && !flags.share)
    return bad_usage(around.err, "--linger belongs to --share", flags.help);
  if (names_url(flags.file)) {
    if (flags.has_server)
      return bad_usage(around.err, "a URL and a command behind -- are two servers: give one of them",
                       flags.help);
    flags.url = std::exchange(flags.file, {});
  }
  if (flags.share) return prepare_shared(std::move(flags), around);
  return prepare_run(std::move(flags), around);
}

std::variant<Invocation, ExitCode> prepare_run(Flags flags, const CommandContext& around) {
  const std::string help(flags.help);
  std::string fault = take_aliases(flags, around);
  if (!fault.empty()) return bad_usage(around.err, fault, help);
  if (!flags.file.empty() && !flags.config.empty()) {
    return bad_usage(around.err, "the configuration is named twice", help);
  }
  if (names_url(flags.file))
    return bad_usage(around.err,
                     fmt::format("{0} is a URL, not a file: lineward run --url {0}", url_to_show(flags.file)),
                     help);
  const bool stdio = flags.listen == kStdio;
  if (stdio) {
    if (flags.file == "-" || flags.config == "-")
      return bad_usage(around.err, "stdin belongs to the client here; name a file", help);
    // Started by a client: no ports, and stderr only has errors.
    if (flags.ops.empty()) flags.ops = "off";
    if (flags.admin.empty()) flags.admin = flags.share ? "auto" : "off";
    if (!flags.verbose) flags.quiet = true;
  } else if (!flags.server.empty()) {
    return bad_usage(around.err, "--server belongs to --listen stdio", help);
  }
  config::LoadOptions load;
  load.env = around.env;
  load.plugins = &plugins::specs();
  if (stdio) load.log_level = config::LogLevel::warn;
  load.settings = settings_of(flags);
  for (const config::Setting& setting : load.settings) {
    fault = fault_of(setting);
    if (!fault.empty()) return bad_usage(around.err, fault, help);
  }
  const bool has_server = flags.has_server || !flags.url.empty();
  fault = misplaced_server_flag(flags);
  if (fault.empty() && has_server) fault = add_server_of_flags(flags, load);
  if (!fault.empty()) return bad_usage(around.err, fault, help);

  Invocation invocation;
  invocation.command = Invocation::Command::run;
  bool named = !flags.file.empty() || !flags.config.empty();
  if (named || !has_server) invocation.config_file = find_config(flags, around);
  if (invocation.config_file.empty() && !has_server)
    return bad_usage(around.err, nothing_found(around), help);

  config::LoadResult result = invocation.config_file.empty()
                                  ? config::load_text("", "command line", load)
                                  : config::load_file(invocation.config_file, load);
  if (!result.ok()) {
    around.err << result.report(around.wants_colour(flags.color, around.err_is_terminal()));
    return exit_code_of(result);
  }
  print_findings(result, flags, around);
  invocation.config = std::move(result.config);
  invocation.files.emplace_back(invocation.config_file, std::move(result.text));
  for (config::IncludedFile& file : result.included)
    invocation.files.emplace_back(file.path, std::move(file.text));
  if (invocation.config.listen.address == kStdio) {
    fault = choose_server(flags.server, invocation.config);
    if (!fault.empty()) return bad_usage(around.err, fault, help);
  }
  if (!invocation.config_file.empty() && invocation.config_file != "-") {
    invocation.load = [file = invocation.config_file, load,
                       server = flags.server](std::set<std::string> running) {
      return load_again(file, load, server, std::move(running));
    };
  }
  invocation.exit_with_upstream = flags.exit_with_upstream;
  invocation.exit_with_parent = flags.exit_with_parent;
  invocation.colour = around.wants_colour(flags.color, around.err_is_terminal());
  invocation.quiet = flags.quiet;
  return invocation;
}

ExitCode validate(const Flags& flags, const CommandContext& around) {
  if (!flags.file.empty() && !flags.config.empty()) {
    return bad_usage(around.err, "the configuration is named twice", "lineward validate --help");
  }
  std::string file = find_config(flags, around);
  if (names_url(file))
    return bad_usage(around.err,
                     fmt::format("{0} is a URL, not a file; to look at a server: lineward doctor --url {0}",
                                 url_to_show(file)),
                     "lineward validate --help");
  if (file.empty()) return bad_usage(around.err, nothing_found(around), "lineward validate --help");
  config::LoadOptions load;
  load.env = around.env;
  load.plugins = &plugins::specs();
  config::LoadResult result = config::load_file(file, std::move(load));
  bool failed = !result.ok() || (flags.strict && result.has(config::Severity::warning));
  if (failed) {
    around.err << result.report(around.wants_colour(flags.color, around.err_is_terminal()));
    return result.ok() ? ExitCode::bad_config : exit_code_of(result);
  }
  print_findings(result, flags, around);
  size_t servers = result.config.servers.size();
  if (!flags.quiet)
    around.out << fmt::format("{}: ok, {} server{}\n", file, servers, servers == 1 ? "" : "s");
  return ExitCode::ok;
}

}  // namespace lineward::cli

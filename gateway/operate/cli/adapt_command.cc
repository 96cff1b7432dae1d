#include "operate/cli/adapt_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/reader/changes.h"
#include "config/reader/load.h"
#include "operate/cli/prepare.h"
#include "operate/config_formats/client_file.h"
#include "operate/config_formats/format_yaml.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

using config_formats::Form;

constexpr const char* kAdaptFooter =
    "FILE is a configuration of Lineward or a client's file; - is stdin. Settings that the other format\n"
    "lacks are reported on stderr. Values are copied unchanged, secrets too: protect the output.\n"
    "\n"
    "Examples\n"
    "  lineward adapt claude_desktop_config.json > lineward.yaml\n"
    "  lineward adapt lineward.yaml --to vscode > .vscode/mcp.json\n"
    "  lineward adapt ~/.codex/config.toml --to claude-code";
constexpr const char* kInitFooter =
    "Writes a first configuration with comments, and never overwrites a file. With --from it has the\n"
    "servers of a client's file. - writes to stdout.\n"
    "\n"
    "Examples\n"
    "  lineward init\n"
    "  lineward init --from ~/.cursor/mcp.json /etc/lineward/lineward.yaml";
constexpr const char* kFmtFooter =
    "Sorts the members of a YAML configuration in the order of `lineward options`, together with the\n"
    "comments above them. Prints the result. Lines are only moved: the file means the same afterwards.\n"
    "\n"
    "Examples\n"
    "  lineward fmt lineward.yaml\n"
    "  lineward fmt --diff lineward.yaml\n"
    "  lineward fmt --write /etc/lineward/lineward.yaml";

constexpr std::string_view kHead =
    "# yaml-language-server: $schema=./lineward.schema.json\n"
    "# Written by lineward init. For completion in an editor: lineward schema > lineward.schema.json\n"
    "# Check it: lineward validate FILE. Run it: lineward run FILE. Every option: lineward options --format "
    "yaml\n"
    "\n"
    "listen:\n"
    "  address: 127.0.0.1:8000        # :8000 is every interface; then set auth:\n"
    "#  allowedOrigins: [\"https://app.example.com\"]   # web pages that may call\n"
    "\n"
    "# Probes and metrics, read-only: /livez, /readyz, /metrics.\n"
    "ops: { address: 127.0.0.1:9464 }\n"
    "\n"
    "# Time limits of one call, for every server.\n"
    "defaults:\n"
    "  timeouts:\n"
    "    request: 60s                 # no answer and no progress for this long\n"
    "    maxDuration: 10m             # the hard end\n"
    "\n"
    "# Authentication and rate limits:\n"
    "# auth: { apiKey: { file: keys.txt } }            # lineward hash-key --new alice >> keys.txt\n"
    "# rateLimit: { requests: 600, per: 1m }\n"
    "\n"
    "# A tamper-evident record of every call:\n"
    "# audit: { path: audit.jsonl }\n"
    "\n";
constexpr std::string_view kServers =
    "# One server is at /mcp; of several each is at /mcp/NAME, and all of them together at /mcp.\n"
    "# Secrets stand in the environment or in files: ${env:NAME}, ${file:/run/secrets/name}.\n";
constexpr std::string_view kExamples =
    "mcpServers:\n"
    "#  time:\n"
    "#    command: uvx\n"
    "#    args: [mcp-server-time]\n"
    "#  search:\n"
    "#    url: https://mcp.example.com/mcp\n"
    "#    headers: { Authorization: \"Bearer ${env:SEARCH_TOKEN}\" }\n";

ExitCode unreadable(const CommandContext& around, const std::string& why) {
  around.err << "error: " << why << "\n";
  return ExitCode::unavailable;
}

ExitCode not_understood(const CommandContext& around, const std::string& why) {
  around.err << "error: " << why << "\n";
  return ExitCode::bad_config;
}

// Unchanged for programs; sanitized on a terminal.
void print_file(const CommandContext& around, const std::string& text) {
  if (around.out_is_terminal()) {
    around.out << text;
  } else {
    around.out.verbatim(text);
  }
}

// Reads the file, or reports an error.
std::optional<config_formats::ClientFile> read_form(const std::string& file, std::optional<Form> from,
                                                    ExitCode& code, const CommandContext& around) {
  auto text = config::read_small_file(file, config::kMaxDocumentBytes + 1);
  if (!text) {
    code = unreadable(around, "cannot read " + text.error().text);
    return std::nullopt;
  }
  auto read = config_formats::read_client_file(*text, file == "-" ? "stdin" : file, from);
  if (read) return std::move(*read);
  code = not_understood(around, read.error().text);
  return std::nullopt;
}

void tell(const std::vector<std::string>& remarks, const CommandContext& around) {
  for (const std::string& one : remarks)
    around.err << "warning: " << one << "\n";
}

bool has_variable(const config_formats::ClientServer& server) {
  const auto in = [](const std::string& text) { return text.find("${") != std::string::npos; };
  const auto in_pairs = [&](const config_formats::ClientServer::Pairs& pairs) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return in(pair.second); });
  };
  return in(server.command) || in(server.cwd) || in(server.url) || in_pairs(server.env) ||
         in_pairs(server.headers) || std::any_of(server.args.begin(), server.args.end(), in);
}

// As YAML that `run` accepts: servers that it would refuse are left out. Values known only to a running
// gateway are not checked.
config_formats::Adapted as_configuration(config_formats::ClientFile& file) {
  config_formats::Adapted adapted = config_formats::write_client_file(file, Form::yaml);
  config::LoadOptions options;
  options.env = [](std::string_view) { return std::optional<std::string>("x"); };
  options.as_client_file = true;
  options.look_at_plugins = false;
  options.plugins = &plugins::specs();
  const config::LoadResult read = config::load_text(adapted.text, "lineward.yaml", options);
  std::vector<std::string> written;
  for (const config_formats::ClientServer& server : file.servers)
    written.push_back(server.name);
  const std::vector<std::string> names = config::server_names(written);
  std::vector<config_formats::ClientServer> kept;
  for (size_t i = 0; i < file.servers.size(); ++i) {
    config_formats::ClientServer& server = file.servers[i];
    auto wrong = std::find_if(read.left_out.begin(), read.left_out.end(),
                              [&](const config::LeftOut& one) { return one.name == names[i]; });
    if (wrong == read.left_out.end() || !server.env_file.empty() || has_variable(server)) {
      kept.push_back(std::move(server));
    } else {
      file.remarks.push_back(
          fmt::format("server '{}': {}; it is left out", config::clip(server.name), wrong->why));
    }
  }
  const bool all = kept.size() == file.servers.size();
  file.servers = std::move(kept);
  return all ? adapted : config_formats::write_client_file(file, Form::yaml);
}

ExitCode adapt_file(const AdaptFlags& flags, const CommandContext& around) {
  const auto to = config_formats::form_named(flags.to);
  const auto from = config_formats::form_named(flags.from);
  const std::string forms = config_formats::form_names();
  if (!to) return bad_usage(around.err, "--to is one of " + forms, "lineward adapt --help");
  if (!from && flags.from != "auto")
    return bad_usage(around.err, "--from is auto or one of " + forms, "lineward adapt --help");
  if (flags.file.empty()) return bad_usage(around.err, "adapt takes a file, or -", "lineward adapt --help");
  ExitCode code = ExitCode::ok;
  auto file = read_form(flags.file, from, code, around);
  if (!file) return code;
  const config_formats::Adapted adapted =
      *to == Form::yaml ? as_configuration(*file) : config_formats::write_client_file(*file, *to);
  if (flags.from == "auto")
    around.err << fmt::format("note: detected as {}; use --from to override\n",
                              config_formats::name(file->form));
  tell(adapted.remarks, around);
  print_file(around, adapted.text);
  return ExitCode::ok;
}

// Creates the file, unless it exists. `like`: with the owner and mode of that file, or not at all.
ExitCode write_new(const std::string& path, const std::string& text, const CommandContext& around,
                   const struct stat* like = nullptr) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
  if (fd < 0 && errno == EEXIST) {
    around.err << fmt::format(
        "error: {} is there already, and stays as it is\n  fix    lineward init OTHER.yaml\n", path);
    return ExitCode::failure;
  }
  if (fd < 0) return unreadable(around, fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += static_cast<size_t>(n);
  }
  int error = errno;
  // The owner first: chown clears bits of the mode.
  const bool kept =
      at != text.size() || like == nullptr ||
      (::fchown(fd, like->st_uid, like->st_gid) == 0 && ::fchmod(fd, like->st_mode & 07777) == 0);
  if (!kept) error = errno;
  const bool closed = ::close(fd) == 0;
  if (at == text.size() && closed && kept) return ExitCode::ok;
  ::unlink(path.c_str());
  if (!kept) {
    around.err << fmt::format(
        "error: the owner {}:{} and the mode of the file cannot be kept: {}\n"
        "  fix    it stays as it is; run this as its owner\n",
        like->st_uid, like->st_gid, std::strerror(error));
    return ExitCode::unavailable;
  }
  return unreadable(around, fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

ExitCode init(const AdaptFlags& flags, const CommandContext& around) {
  const std::string path = flags.file.empty() ? "lineward.yaml" : flags.file;
  std::string text(kHead);
  text += kServers;
  if (flags.init_from.empty()) {
    text += kExamples;
  } else {
    ExitCode code = ExitCode::ok;
    auto file = read_form(flags.init_from, std::nullopt, code, around);
    if (!file) return code;
    if (file->servers.empty()) {
      return not_understood(around,
                            fmt::format("{}: there are no servers in it, below mcpServers or servers\n"
                                        "  fix    name the file in which they are; without --from the "
                                        "configuration has examples",
                                        flags.init_from));
    }
    // The rest of the file is Lineward's.
    if (!file->own.empty()) {
      std::string names;
      for (const config::Member& member : file->own)
        names += (names.empty() ? "" : ", ") + config::clip(member.key);
      file->remarks.push_back(fmt::format("only the servers are taken over: {} {} left out", names,
                                          file->own.size() == 1 ? "is" : "are"));
      file->own.clear();
    }
    const config_formats::Adapted adapted = as_configuration(*file);
    tell(adapted.remarks, around);
    text += adapted.text;
  }
  if (path == "-") {
    print_file(around, text);
    return ExitCode::ok;
  }
  const ExitCode code = write_new(path, text, around);
  if (code == ExitCode::ok)
    around.err << fmt::format("{} is written\n  next   lineward validate {}; lineward run {}\n", path, path,
                              path);
  return code;
}

// All values and all errors, without positions.
bool mean_the_same(const std::string& before, const std::string& after, const std::string& name,
                   const CommandContext& around) {
  config::LoadOptions options;
  options.env = around.env;
  options.plugins = &plugins::specs();
  const size_t slash = name.rfind('/');
  options.directory = slash == std::string::npos ? "." : slash == 0 ? "/" : name.substr(0, slash);
  auto load = [&](const std::string& text) { return config::load_text(text, name, options); };
  config::LoadResult was = load(before), is = load(after);
  auto faults = [](const config::LoadResult& result) {
    std::vector<std::string> out;
    for (const config::Diagnostic& one : result.diagnostics)
      out.push_back(one.code + " " + one.message);
    std::sort(out.begin(), out.end());
    return out;
  };
  if (faults(was) != faults(is)) return false;
  if (was.config.servers.size() != is.config.servers.size()) return false;
  for (size_t i = 0; i < was.config.servers.size(); ++i) {
    if (was.config.servers[i].name != is.config.servers[i].name) return false;
  }
  return config::compare(was.config, is.config).none();
}

// Replaces the file atomically, keeping owner and mode. If `named` is a link, its target is replaced and the
// link stays.
ExitCode replace_file(const std::string& named, const std::string& text, const CommandContext& around) {
  std::error_code lost;
  const std::string path = std::filesystem::canonical(named, lost).string();
  struct stat info {};
  if (lost || ::stat(path.c_str(), &info) != 0)
    return unreadable(
        around, fmt::format("cannot write {}: {}", named, lost ? lost.message() : std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return unreadable(around, fmt::format("cannot write {}: it is no file", named));
  const std::string next = fmt::format("{}.{}.new", path, ::getpid());
  if (const ExitCode code = write_new(next, text, around, &info); code != ExitCode::ok) return code;
  if (::rename(next.c_str(), path.c_str()) == 0) return ExitCode::ok;
  const int error = errno;
  ::unlink(next.c_str());
  return unreadable(around, fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

ExitCode format(const AdaptFlags& flags, const CommandContext& around) {
  constexpr const char* kHelp = "lineward fmt --help";
  if (flags.write && flags.diff) return bad_usage(around.err, "fmt takes --write or --diff, not both", kHelp);
  if (flags.write && flags.file == "-") return bad_usage(around.err, "stdin cannot be written", kHelp);
  const std::string path = flags.file.empty() ? "lineward.yaml" : flags.file;
  auto text = config::read_small_file(path, config::kMaxDocumentBytes + 1);
  if (!text) return unreadable(around, "cannot read " + text.error().text);
  const std::string name = path == "-" ? "stdin" : path;
  if (config::syntax_of(name, *text) == config::Syntax::json) {
    around.err << "error: fmt is for YAML\n  fix    lineward adapt " << name << " --to yaml\n";
    return ExitCode::usage;
  }
  auto formatted = config_formats::format_yaml(*text, name);
  if (!formatted) return not_understood(around, formatted.error().text);
  if (!mean_the_same(*text, *formatted, name, around)) {
    return not_understood(around,
                          name +
                              ": in another order it would not mean the same; it is left as it is. Give each "
                              "member a line of its own");
  }
  if (flags.diff) {
    around.out << config_formats::line_diff(*text, *formatted);
    return *text == *formatted ? ExitCode::ok : ExitCode::failure;
  }
  if (!flags.write) {
    print_file(around, *formatted);
    return ExitCode::ok;
  }
  return *text == *formatted ? ExitCode::ok : replace_file(path, *formatted, around);
}

}  // namespace

void add_adapt(CLI::App& app, AdaptFlags& flags) {
  CLI::App* adapt =
      app.add_subcommand("adapt", "Converts a file of servers into the format of another program.");
  adapt->add_option("FILE", flags.file, "The file; - is stdin")->type_name("");
  adapt->add_option("--from", flags.from, "auto, or as --to")->type_name("FORM");
  adapt->add_option("--to", flags.to, config_formats::form_names())->type_name("FORM");
  adapt->footer(kAdaptFooter);
  CLI::App* init = app.add_subcommand("init", "Writes a first configuration with comments.");
  init->add_option("FILE", flags.file, "The file to write; lineward.yaml by default, - is stdout")
      ->type_name("");
  init->add_option("--from", flags.init_from, "A client's file with the servers to write into it")
      ->type_name("FILE");
  init->footer(kInitFooter);
  CLI::App* format =
      app.add_subcommand("fmt", "Sorts the members of a configuration and keeps its comments.");
  format->add_option("FILE", flags.file, "The file; lineward.yaml by default, - is stdin")->type_name("");
  format->add_flag("--write", flags.write, "Write the result into the file itself");
  format->add_flag("--diff", flags.diff, "Print only the changes; exit 1 if there are any");
  format->footer(kFmtFooter);
}

bool is_adapt(std::string_view command) {
  return command == "adapt" || command == "init" || command == "fmt";
}

ExitCode run_adapt(std::string_view command, const AdaptFlags& flags, const CommandContext& around) {
  if (command == "adapt") return adapt_file(flags, around);
  return command == "init" ? init(flags, around) : format(flags, around);
}

}  // namespace lineward::cli

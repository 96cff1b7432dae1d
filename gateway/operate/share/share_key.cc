#include "operate/share/share_key.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "config/reader/changes.h"
#include "config/server_environment.h"
#include "foundation/base/random_id.h"
#include "foundation/base/sha256.h"

namespace lineward::share {
namespace {

constexpr std::array<std::string_view, 12> kNoise{
    "PWD",      "OLDPWD", "SHLVL",     "_",   "LINES",  "COLUMNS", "TERM_SESSION_ID",
    "WINDOWID", "TMUX",   "TMUX_PANE", "STY", "GPG_TTY"};
// Read by Lineward or its libraries, whatever the servers get.
constexpr std::array<std::string_view, 8> kOwn{
    "http_proxy", "https_proxy",   "HTTPS_PROXY",  "no_proxy",
    "NO_PROXY",   "SSL_CERT_FILE", "SSL_CERT_DIR", "CREDENTIALS_DIRECTORY"};
constexpr std::string_view kTelemetry = "OTEL_";
constexpr size_t kKeyBytes = 16;

// Each part with its length: no two lists of parts give the same text.
class Parts {
 public:
  void add(std::string_view part) { text_ += fmt::format("{}:{}", part.size(), part); }
  template <class Map>
  void add_all(std::string_view title, const Map& map) {
    add(title);
    add(std::to_string(map.size()));
    for (const auto& [key, value] : map) {
      add(key);
      add(value);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool is_running(const config::Server& server) {
  return !server.disabled;
}

bool is_relative(std::string_view path) {
  return path.empty() || path.front() != '/';
}

// Which file this is, and which content of it.
std::string identity_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  return fmt::format("{} {} {} {}.{} {}.{}", found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec, found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

std::string program_in_path(const std::string& command) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? std::string_view() : path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    if (access(file.c_str(), X_OK) == 0) return file + " " + identity_of(file);
  }
  return {};
}

std::string program_of(const config::Server& server) {
  if (server.command.find('/') == std::string::npos) return program_in_path(server.command);
  const bool below = is_relative(server.command) && !server.cwd.empty();
  return identity_of(below ? server.cwd + "/" + server.command : server.command);
}

// The rights of this process and its children, and the mode of their files.
std::vector<std::string> rights() {
  std::vector<std::string> out{identity_of("/proc/self/root/.")};
  const mode_t mask = umask(0);
  umask(mask);
  out.push_back(std::to_string(mask));
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    for (std::string_view title : {"Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"}) {
      if (line.starts_with(title)) out.push_back(line);
    }
  }
  std::string label;
  std::getline(std::ifstream("/proc/self/attr/current"), label);
  out.push_back(label);
  return out;
}

std::string link_text(const char* path) {
  char text[256];
  const ssize_t length = readlink(path, text, sizeof text);
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : std::string();
}

}  // namespace

bool is_noise(std::string_view name) {
  return std::find(kNoise.begin(), kNoise.end(), name) != kNoise.end();
}

bool depends_on_directory(const config::Config& config) {
  const bool audit = !config.audit.path.empty() && is_relative(config.audit.path);
  return audit || std::any_of(config.servers.begin(), config.servers.end(), [](const config::Server& one) {
           return is_running(one) && one.url.empty() && is_relative(one.cwd);
         });
}

std::string working_directory() {
  std::error_code error;
  const std::string path = std::filesystem::current_path(error).string();
  struct stat found {};
  // A directory that was removed is never shared.
  if (error || stat(".", &found) != 0) return random_id();
  return fmt::format("{} {} {}", found.st_dev, found.st_ino, path);
}

std::map<std::string, std::string> counted_environment(const config::Config& config, const char* const* own) {
  std::map<std::string, std::string> out;
  auto add = [&out](std::string key, std::string_view entry) {
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    if (is_noise(name)) return;
    out[std::move(key.append(name))] = std::string(entry.substr(std::min(entry.size(), equals + 1)));
  };
  for (const config::Server& server : config.servers) {
    if (!is_running(server) || !server.url.empty()) continue;
    for (const std::string& entry : config::server_environment(server, own))
      add(server.name + " ", entry);
  }
  for (const char* const* entry = own; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    // Hooks get the usual ones.
    const bool of_hooks = !config.plugins.empty() && config::is_usual_variable(name);
    if (of_hooks || name.starts_with(kTelemetry) || std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end())
      add(" ", text);
  }
  return out;
}

std::string share_key(const ShareFacts& facts) {
  Parts parts;
  parts.add(facts.version);
  parts.add(facts.revision);
  parts.add_all("words", facts.words);
  parts.add_all("files", facts.files);
  std::map<std::string, std::string> looked_up;
  for (const auto& [name, value] : facts.looked_up)
    looked_up[name] = value ? "=" + *value : "";
  parts.add_all("looked up", looked_up);
  parts.add_all("environment", facts.environment);
  parts.add(facts.directory);
  for (const auto* list : {&facts.machine, &facts.from_files}) {
    parts.add(std::to_string(list->size()));
    for (const std::string& one : *list)
      parts.add(one);
  }
  const Sha256 digest = sha256(parts.text());
  std::string key;
  for (size_t i = 0; i < kKeyBytes; ++i)
    key += fmt::format("{:02x}", digest[i]);
  return key;
}

std::vector<std::string> machine_facts(const config::Config& config) {
  std::vector<std::string> out{identity_of("/proc/self/exe"), fmt::format("{} {}", geteuid(), getegid())};
  for (const char* space : {"mnt", "net", "pid", "user", "ipc"})
    out.push_back(link_text(fmt::format("/proc/self/ns/{}", space).c_str()));
  for (std::string& right : rights())
    out.push_back(std::move(right));
  for (const config::Server& server : config.servers) {
    if (is_running(server) && server.url.empty()) out.push_back(program_of(server));
  }
  out.push_back(identity_of(config.audit.key_file));
  return out;
}

std::vector<std::string> facts_of_files(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    const std::string found = identity_of(path);
    if (!found.empty()) out.push_back(found);
  }
  return out;
}

std::vector<std::string> facts_from_files(config::Config config) {
  config::note_files(config);
  std::vector<std::string> out = config.given_secrets;
  for (const config::Server& server : config.servers)
    out.push_back(server.files_seen);
  return out;
}

}  // namespace lineward::share

#include "proxy/upstream/layers/memory_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/environment.h"
#include "foundation/base/file_limit.h"
#include "foundation/base/random_id.h"
#include "foundation/base/sha256.h"
#include "foundation/base/version.h"

namespace lineward::upstream {
namespace {

// Arguments that are looked up as files.
constexpr size_t kMaxArguments = 64;
// Files in the directory: of these, the oldest ones make room for a new one.
constexpr size_t kMaxFiles = 512;
constexpr std::string_view kSuffix = ".memory";
// The name of a file is a digest of this length. While it is written, an id of this length follows the
// suffix.
constexpr size_t kNameBytes = 32, kUnfinishedBytes = 16;
// An unfinished file of this age is a leftover. It is looked for among so many entries.
constexpr int64_t kUnfinishedSeconds = 60;
constexpr size_t kMaxLookedAt = 2048;

// Each part with its length, so that no two lists of parts have the same text.
class Parts {
 public:
  void add(std::string_view part) {
    text_ += fmt::format("{}:", part.size());
    text_ += part;
  }
  std::string digest() const { return sha256_hex(text_); }

 private:
  std::string text_;
};

std::string_view value_of(const char* const* environment, std::string_view name) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return text.substr(name.size() + 1);
  }
  return {};
}

std::string working_directory(const config::Server& server) {
  std::array<char, PATH_MAX> here{};
  if (server.cwd.starts_with('/')) return server.cwd;
  const char* found = ::getcwd(here.data(), here.size());
  std::string path = found == nullptr ? std::string() : std::string(found);
  return server.cwd.empty() ? path : path + "/" + server.cwd;
}

bool is_file(const std::string& path, struct stat& found) {
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

void add_file(Parts& parts, const std::string& path) {
  struct stat found {};
  if (!is_file(path, found)) return parts.add("none");
  parts.add(path);
  parts.add(fmt::format("{} {} {}", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec));
}

// As the supervisor finds it (foundation/process/supervisor.cc).
std::string program_of(const config::Server& server, const std::string& directory,
                       const char* const* environment) {
  const auto below = [&](const std::string& path) {
    return path.starts_with('/') ? path : directory + "/" + path;
  };
  if (server.command.find('/') != std::string::npos) return below(server.command);
  std::string_view search = value_of(environment, "PATH");
  for (const auto& [name, value] : server.env) {
    if (name == "PATH") search = value;
  }
  while (!search.empty()) {
    const size_t end = std::min(search.find(':'), search.size());
    const std::string path = below(fmt::format("{}/{}", search.substr(0, end), server.command));
    struct stat found {};
    if (is_file(path, found) && ::access(path.c_str(), X_OK) == 0) return path;
    search.remove_prefix(std::min(end + 1, search.size()));
  }
  return server.command;
}

// These differ between two lives, and no server's lists depend on them.
bool counts(const config::Server& server, std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNoise{"TERM", "PWD",   "OLDPWD", "SHLVL",
                                                          "_",    "LINES", "COLUMNS"};
  return config::inherits(server, name) && std::find(kNoise.begin(), kNoise.end(), name) == kNoise.end();
}

std::string fingerprint(const config::Server& server, const std::string& directory,
                        const char* const* environment) {
  Parts parts;
  parts.add(LINEWARD_USER_AGENT);
  parts.add(directory);
  parts.add(server.command);
  add_file(parts, program_of(server, directory, environment));
  parts.add(fmt::format("{}", server.args.size()));
  for (size_t at = 0; at < server.args.size(); ++at) {
    const std::string& word = server.args[at];
    parts.add(word);
    if (at < kMaxArguments && !word.empty())
      add_file(parts, word.starts_with('/') ? word : directory + "/" + word);
  }
  std::vector<std::string> variables;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (counts(server, text.substr(0, text.find('=')))) variables.emplace_back(text);
  }
  for (const auto& [name, value] : server.env)
    variables.push_back(fmt::format("{}={}", name, value));
  std::sort(variables.begin(), variables.end());
  for (const std::string& variable : variables)
    parts.add(variable);
  // Lineward's own messages to the server, and the processes of its callers, depend on these.
  parts.add(fmt::format("{} {}", static_cast<int>(server.isolation), static_cast<int>(server.protocol_era)));
  for (const std::string& root : server.roots)
    parts.add(root);
  for (const auto& [name, value] : server.identity.meta)
    parts.add(fmt::format("{}={}", name, value));
  return parts.digest();
}

std::string directory_of(const config::Server& server, const char* const* environment) {
  if (!server.remember.directory.empty()) return server.remember.directory;
  const auto absolute = [&](std::string_view name) {
    const std::string_view value = value_of(environment, name);
    return value.starts_with('/') ? std::string(value.substr(0, value.find(':'))) : std::string();
  };
  if (const std::string service = absolute("STATE_DIRECTORY"); !service.empty()) return service + "/memory";
  if (const std::string state = absolute("XDG_STATE_HOME"); !state.empty()) return state + "/lineward/memory";
  const std::string home = absolute("HOME");
  return home.empty() ? std::string() : home + "/.local/state/lineward/memory";
}

// ---- files ----

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  const int fd_;
};

Unexpected<Error> refused(std::string_view what, int error) {
  return fail(fmt::format("{}: {}", what, std::strerror(error)));
}

void make_directories(const std::string& path) {
  for (size_t at = 1; at != std::string::npos && at < path.size();) {
    at = path.find('/', at);
    ::mkdir(path.substr(0, at).c_str(), 0700);
    if (at != std::string::npos) ++at;
  }
}

// Only this user may read or change it.
std::string fault_of(const struct stat& found) {
  if (found.st_uid != ::geteuid()) return fmt::format("belongs to user {}", found.st_uid);
  if ((found.st_mode & 077u) != 0)
    return fmt::format("is open to others (mode {:04o})", found.st_mode & 07777u);
  return {};
}

Result<int> open_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? fail(std::string()) : refused(path, errno);
  struct stat found {};
  std::string fault = ::fstat(fd, &found) == 0 ? fault_of(found) : std::string(std::strerror(errno));
  if (fault.empty()) return fd;
  ::close(fd);
  return fail(fmt::format("{} {}", path, fault));
}

// Calls `visit` with the name of each entry, of so many at most.
template <class Visit>
void each_entry(int directory, size_t most, Visit&& visit) {
  const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = again < 0 ? nullptr : ::fdopendir(again);
  if (list == nullptr) {
    if (again >= 0) ::close(again);
    return;
  }
  for (size_t seen = 0; seen < most; ++seen) {
    const dirent* entry = ::readdir(list);
    if (entry == nullptr) break;
    visit(std::string(entry->d_name));
  }
  ::closedir(list);
}

bool is_hex(std::string_view text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The name under which write_now() begins a file.
bool is_unfinished(std::string_view name) {
  const size_t suffix = name.find(kSuffix);
  if (suffix == std::string_view::npos || !is_hex(name.substr(0, suffix), kNameBytes)) return false;
  name.remove_prefix(suffix + kSuffix.size());
  return name.starts_with('.') && is_hex(name.substr(1), kUnfinishedBytes);
}

// Removes what interrupted writes have left.
void clean(int directory) {
  const time_t before = ::time(nullptr) - kUnfinishedSeconds;
  each_entry(directory, kMaxLookedAt, [&](const std::string& one) {
    struct stat found {};
    if (!is_unfinished(one) || ::fstatat(directory, one.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    const bool is_ours = S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
    if (is_ours && found.st_mtim.tv_sec < before) ::unlinkat(directory, one.c_str(), 0);
  });
}

Result<std::string> read_now(const MemoryPlace& place, size_t most) {
  auto opened = open_directory(place.directory);
  if (!opened) return fail(opened.error().text);
  const Descriptor directory(*opened);
  clean(directory.get());
  const std::string name = place.name + std::string(kSuffix);
  const Descriptor file(
      ::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) return errno == ENOENT ? fail(std::string()) : refused(name, errno);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return refused(name, errno);
  if (!S_ISREG(found.st_mode)) return fail(name + " is not a regular file");
  if (std::string fault = fault_of(found); !fault.empty()) return fail(fmt::format("{} {}", name, fault));
  std::string text;
  std::array<char, 16 * 1024> buffer{};
  while (text.size() <= most) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(name, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return fail(fmt::format("{} has more than {} bytes (remember.maxBytes)", name, most));
}

// The oldest files go.
void make_room(int directory, const std::string& name) {
  struct stat found {};
  if (::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return;
  std::vector<std::pair<int64_t, std::string>> files;
  each_entry(directory, SIZE_MAX, [&](const std::string& one) {
    if (one.find(kSuffix) == std::string::npos) return;
    if (::fstatat(directory, one.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode))
      return;
    files.emplace_back(found.st_mtim.tv_sec, one);
  });
  if (files.size() < kMaxFiles) return;
  std::sort(files.begin(), files.end());
  for (size_t at = 0; at + kMaxFiles <= files.size(); ++at)
    ::unlinkat(directory, files[at].second.c_str(), 0);
}

Status<> write_now(const MemoryPlace& place, const std::string& text) {
  make_directories(place.directory);
  auto opened = open_directory(place.directory);
  if (!opened) {
    const std::string& why = opened.error().text;
    return fail(why.empty() ? place.directory + " cannot be made" : why);
  }
  const Descriptor directory(*opened);
  const std::string name = place.name + std::string(kSuffix);
  make_room(directory.get(), name);
  const std::string made = fmt::format("{}.{}", name, random_id().substr(0, kUnfinishedBytes));
  {
    const Descriptor file(
        ::openat(directory.get(), made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return refused(made, errno);
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t put = ::write(file.get(), rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        const int error = errno;
        ::unlinkat(directory.get(), made.c_str(), 0);
        return refused(made, error);
      }
      rest.remove_prefix(static_cast<size_t>(put));
    }
  }
  if (::renameat(directory.get(), made.c_str(), directory.get(), name.c_str()) == 0) return Done{};
  const int error = errno;
  ::unlinkat(directory.get(), made.c_str(), 0);
  return refused(name, error);
}

}  // namespace

// Late work may still write into its result when these have returned.
MemoryPlace memory_place(const config::Server& server, const char* const* environment) {
  auto out = std::make_shared<MemoryPlace>();
  // The server's files may be anywhere, and its configuration may change meanwhile.
  auto work = [out, copy = server, environment] {
    const std::string directory = working_directory(copy);
    Parts name;
    name.add(copy.name);
    name.add(directory);
    name.add(copy.command);
    for (const std::string& word : copy.args)
      name.add(word);
    *out = {directory_of(copy, environment), name.digest().substr(0, kNameBytes),
            fingerprint(copy, directory, environment)};
  };
  return within_file_limit(server.command, std::move(work)) ? std::move(*out) : MemoryPlace();
}

bool has_memory(const MemoryPlace& place) {
  auto error = std::make_shared<int>(ENOENT);
  const std::string path = place.directory + "/" + place.name + std::string(kSuffix);
  auto work = [error, path] { *error = ::access(path.c_str(), R_OK) == 0 ? 0 : errno; };
  return !place.directory.empty() && within_file_limit(place.directory, std::move(work)) && *error == 0;
}

Result<std::string> read_memory(const MemoryPlace& place, size_t most) {
  auto out = std::make_shared<std::optional<Result<std::string>>>();
  if (within_file_limit(place.directory, [out, place, most] { *out = read_now(place, most); }))
    return std::move(**out);
  return fail(file_is_late());
}

Status<> write_memory(const MemoryPlace& place, const std::string& text) {
  auto out = std::make_shared<std::optional<Status<>>>();
  if (within_file_limit(place.directory, [out, place, text] { *out = write_now(place, text); }))
    return std::move(**out);
  return fail(file_is_late());
}

}  // namespace lineward::upstream

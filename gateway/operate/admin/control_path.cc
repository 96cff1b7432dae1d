#include "operate/admin/control_path.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "foundation/net/socket_address.h"

namespace lineward::admin {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr size_t kMaxLooked = 1000;

bool is_by_root(const struct stat& status) {
  return status.st_uid == 0 && (status.st_mode & 022) == 0;
}

// The owner of the parent directory could replace this one, unless the parent is sticky.
bool is_above_others(const std::string& path) {
  struct stat above {};
  if (lstat(path.substr(0, path.rfind('/')).c_str(), &above) != 0) return false;
  const bool ours = above.st_uid == geteuid() || above.st_uid == 0;
  return ours && ((above.st_mode & 022) == 0 || (above.st_mode & S_ISVTX) != 0);
}

// The searching program. Commands of root also search directories that root gave to another user
// (/run/lineward).
enum class For : uint8_t { gateway, command };

// Empty, or the reason why this directory is unsafe. Symbolic links are not followed: everyone may write to
// /tmp. The same holds for root: the owner of another user's directory may replace its content.
std::string unfit(const std::string& path, For whom) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "is no directory";
  bool ours = status.st_uid == geteuid();
  if (!ours && whom == For::command && geteuid() == 0) {
    struct stat above {};
    ours = lstat(path.substr(0, path.rfind('/')).c_str(), &above) == 0 && is_by_root(above);
  }
  if (!ours) return "belongs to another user";
  if (!is_above_others(path)) return "is in a directory of another user";
  if ((status.st_mode & 022) != 0) return "can be written by others";
  if (access(path.c_str(), W_OK) != 0) return std::strerror(errno);
  return {};
}

}  // namespace

// After `sudo -E` or `su` the variable names the calling user's directory. It counts only if that belongs to
// this user, as its specification requires.
std::vector<std::string> socket_directories() {
  std::vector<std::string> out;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  struct stat status {};
  const bool another = runtime != nullptr && stat(runtime, &status) == 0 && status.st_uid != geteuid();
  if (runtime != nullptr && runtime[0] == '/' && !another) out.push_back(std::string(runtime) + "/lineward");
  out.emplace_back("/run/lineward");
  out.push_back(fmt::format("/tmp/lineward-{}", geteuid()));
  return out;
}

Result<std::string> own_directory(size_t longest_name, std::string_view for_what) {
  std::string tried;
  for (const std::string& directory : socket_directories()) {
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", directory, std::strerror(errno));
      continue;
    }
    std::string why = unfit(directory, For::gateway);
    if (why.empty() && directory.size() + 1 + longest_name >= sizeof(sockaddr_un::sun_path))
      why = "is too long";
    if (why.empty()) return directory;
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", directory, why);
  }
  return fail(fmt::format("no directory for {}: {}", for_what, tried));
}

Result<std::string> own_socket_path() {
  const std::string name = fmt::format("{}{}", getpid(), kSuffix);
  auto directory = own_directory(name.size(), "the control socket");
  if (!directory) return directory;
  return *directory + "/" + name;
}

std::vector<std::string> live_sockets() {
  std::vector<std::string> out;
  for (const std::string& directory : socket_directories()) {
    if (!unfit(directory, For::command).empty()) continue;
    DIR* listing = opendir(directory.c_str());
    if (listing == nullptr) continue;
    size_t looked = 0;
    while (const dirent* entry = readdir(listing)) {
      std::string_view name = entry->d_name;
      if (name.size() <= kSuffix.size() || name.substr(name.size() - kSuffix.size()) != kSuffix) continue;
      if (++looked > kMaxLooked) break;
      std::string path = directory + "/" + std::string(name);
      int fd = net::connect_unix(path);
      const bool busy = fd < 0 && errno == EAGAIN;
      if (fd >= 0 || busy) {
        if (fd >= 0) close(fd);
        out.push_back(std::move(path));
        continue;
      }
      struct stat status {};
      bool refused = errno == ECONNREFUSED;
      if (refused && lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
    }
    closedir(listing);
  }
  return out;
}

}  // namespace lineward::admin

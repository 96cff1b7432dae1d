#include "operate/share/share_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "foundation/net/socket_address.h"
#include "operate/admin/control_path.h"

namespace lineward::share {
namespace {

constexpr std::string_view kPrefix = "share-";
constexpr std::string_view kLease = ".lease", kMcp = ".mcp", kLock = ".lock", kLog = ".log";
constexpr size_t kMaxLooked = 1000;
constexpr time_t kLogKept = 24 * 60 * 60;  // s
constexpr int kMaxLockTries = 8;

SharePlace place_in(const std::string& directory, const std::string& stem) {
  const std::string start = directory + "/" + stem;
  return {directory, fmt::format("{}{}", start, kMcp), fmt::format("{}{}", start, kLease),
          fmt::format("{}{}", start, kLock), fmt::format("{}{}", start, kLog)};
}

// The name without its end, or empty.
std::string stem_of(std::string_view name) {
  for (std::string_view end : {kLease, kMcp, kLock, kLog}) {
    if (name.starts_with(kPrefix) && name.ends_with(end))
      return std::string(name.substr(0, name.size() - end.size()));
  }
  return {};
}

std::vector<std::string> stems_in(const std::string& directory) {
  std::vector<std::string> out;
  DIR* listing = opendir(directory.c_str());
  if (listing == nullptr) return out;
  size_t looked = 0;
  while (const dirent* entry = readdir(listing)) {
    if (++looked > kMaxLooked) break;
    std::string stem = stem_of(entry->d_name);
    if (!stem.empty() && std::find(out.begin(), out.end(), stem) == out.end()) out.push_back(std::move(stem));
  }
  closedir(listing);
  return out;
}

// Whether the kernel says that there is no listener.
bool has_no_listener(const std::string& path) {
  const int fd = net::connect_unix(path);
  const int why = fd < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  return why == ECONNREFUSED || why == ENOENT;
}

bool is_old(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) != 0 || time(nullptr) - found.st_mtim.tv_sec > kLogKept;
}

}  // namespace

Result<SharePlace> share_place(const std::string& key) {
  const std::string stem = fmt::format("{}{}", kPrefix, key);
  auto directory = admin::own_directory(stem.size() + kLease.size(), "a shared gateway");
  if (!directory) return Unexpected<Error>{directory.error()};
  // In the address of a server a colon begins the path of the URL.
  if (directory->find(':') != std::string::npos)
    return fail(fmt::format("no directory for a shared gateway: {} has a colon in its name", *directory));
  return place_in(*directory, stem);
}

Result<int> take_lock(const std::string& path) {
  for (int tries = 0; tries < kMaxLockTries; ++tries) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return fail(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      close(fd);
      if (why == EWOULDBLOCK) return -1;
      return fail(fmt::format("cannot lock {}: {}", path, std::strerror(why)));
    }
    struct stat held {
    }, named{};
    if (fstat(fd, &held) == 0 && lstat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
        held.st_dev == named.st_dev)
      return fd;
    close(fd);
  }
  return -1;
}

// A gateway holds its lock from its start to its end.
void remove_stale(const std::string& directory) {
  for (const std::string& stem : stems_in(directory)) {
    const SharePlace place = place_in(directory, stem);
    auto lock = take_lock(place.lock);
    if (!lock || *lock < 0) continue;
    if (has_no_listener(place.lease) && has_no_listener(place.mcp)) {
      for (const std::string* path : {&place.mcp, &place.lease, &place.lock})
        unlink(path->c_str());
      if (is_old(place.log)) unlink(place.log.c_str());
    }
    close(*lock);
  }
}

}  // namespace lineward::share

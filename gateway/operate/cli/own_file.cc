#include "operate/cli/own_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

namespace lineward::cli {
namespace {

// For another command that changes the same file.
constexpr std::chrono::seconds kLockLimit{10};
constexpr std::chrono::milliseconds kLockAgain{20};

size_t start_of_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

struct ProcessStatus {
  std::string name;
  ProcessIds ids;  // effective
};

// /proc/PID itself belongs to root if the process has changed its user.
std::optional<ProcessStatus> status_of(const std::string& process) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  ProcessStatus out;
  bool user = false, group = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, real;
    words >> key >> real;
    if (key == "Name:") out.name = real;
    if (key == "Uid:") user = static_cast<bool>(words >> out.ids.user);
    if (key == "Gid:") group = static_cast<bool>(words >> out.ids.group);
  }
  return user && group ? std::optional(std::move(out)) : std::nullopt;
}

// The gateway told its own number, which in another container is that of another process here.
std::optional<ProcessIds> ids_of_gateway(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const auto here = status_of("self"), there = status_of(std::to_string(pid));
  if (!here || !there || here->name != there->name) return std::nullopt;
  return there->ids;
}

// The owner first: a change of it clears bits of the mode. Without its group it is for its owner alone.
void give(int fd, const FileAccess& to) {
  const bool given =
      ::fchown(fd, to.owner, to.group) == 0 || ::fchown(fd, static_cast<uid_t>(-1), to.group) == 0;
  if (given && to.group_reads) ::fchmod(fd, 0640);
}

}  // namespace

DirectoryLock::DirectoryLock(const std::string& directory)
    : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

std::string DirectoryLock::take() const {
  if (fd_ < 0) return std::strerror(errno);
  const auto until = std::chrono::steady_clock::now() + kLockLimit;
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return std::strerror(errno);
    if (std::chrono::steady_clock::now() > until)
      return fmt::format("another command has changed it for {} s", kLockLimit.count());
    std::this_thread::sleep_for(kLockAgain);
  }
  return {};
}

void DirectoryLock::sync() const {
  ::fsync(fd_);
}

FileAccess access_of_own_file(const struct stat* own, const struct stat& configuration,
                              const ProcessIds* gateway, bool as_root) {
  const auto as = [](const struct stat& file) {
    return FileAccess{file.st_uid, file.st_gid, (file.st_mode & S_IRGRP) != 0};
  };
  if (own != nullptr) return as(*own);
  FileAccess out = as(configuration);
  if ((configuration.st_mode & S_IROTH) == 0) return out;
  out.group_reads = as_root && out.group_reads && gateway == nullptr;
  if (as_root && gateway != nullptr && gateway->user != out.owner) out = {out.owner, gateway->group, true};
  return out;
}

OwnFile::OwnFile(std::string path, std::string configuration, pid_t gateway)
    : path_(std::move(path)), configuration_(std::move(configuration)), gateway_(gateway) {}

OwnFile::~OwnFile() {
  if (!kept_.empty()) ::unlink(kept_.c_str());
}

// A watching gateway does not look at names with a dot.
std::string OwnFile::hidden(std::string_view ending) const {
  const size_t name = start_of_name(path_);
  return fmt::format("{}.{}.{}", path_.substr(0, name), path_.substr(name), ending);
}

void OwnFile::remove_leftovers() const {
  const std::string all = hidden("");
  const std::string directory = path_.substr(0, start_of_name(path_));
  const std::string beginning = all.substr(directory.size());
  DIR* open = ::opendir(directory.empty() ? "." : directory.c_str());
  if (open == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open)) {
    if (std::strncmp(entry->d_name, beginning.c_str(), beginning.size()) == 0)
      names.emplace_back(directory + entry->d_name);
  }
  ::closedir(open);
  for (const std::string& name : names)
    ::unlink(name.c_str());
}

std::string OwnFile::unfit() const {
  struct stat own {};
  if (::lstat(path_.c_str(), &own) != 0 || S_ISREG(own.st_mode)) return {};
  return fmt::format("{} is {}, which Lineward does not replace", path_,
                     S_ISLNK(own.st_mode) ? "a symbolic link" : "no regular file");
}

std::string OwnFile::write(std::string_view text, const DirectoryLock& lock) {
  remove_leftovers();
  struct stat own {
  }, configuration{};
  existed_ = ::lstat(path_.c_str(), &own) == 0;
  if (!existed_ && ::stat(configuration_.c_str(), &configuration) != 0)
    return fmt::format("cannot read {}: {}", configuration_, std::strerror(errno));
  const auto gateway = ids_of_gateway(gateway_);
  const FileAccess access = access_of_own_file(existed_ ? &own : nullptr, configuration,
                                               gateway ? &*gateway : nullptr, ::geteuid() == 0);
  const std::string next = hidden("next"), before = hidden("before");
  const int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return fmt::format("cannot write {}: {}", next, std::strerror(errno));
  give(fd, access);
  const bool written = write_whole(fd, text) && ::fsync(fd) == 0;
  const int fault = errno;
  ::close(fd);
  if (written && existed_ && ::link(path_.c_str(), before.c_str()) == 0) kept_ = before;
  if (written && ::rename(next.c_str(), path_.c_str()) == 0) {
    lock.sync();
    return {};
  }
  const int why = written ? errno : fault;
  ::unlink(next.c_str());
  return fmt::format("cannot write {}: {}", path_, std::strerror(why));
}

std::string OwnFile::take_back(const std::string& before, const DirectoryLock& lock) {
  int fault = 0;
  if (!existed_) {
    if (::unlink(path_.c_str()) != 0) fault = errno;
  } else if (kept_.empty()) {  // its file system knows no links
    return write(before, lock);
  } else if (::rename(kept_.c_str(), path_.c_str()) != 0) {
    fault = errno;
  }
  if (fault != 0) return fmt::format("cannot write {}: {}", path_, std::strerror(fault));
  kept_.clear();
  lock.sync();
  return {};
}

}  // namespace lineward::cli

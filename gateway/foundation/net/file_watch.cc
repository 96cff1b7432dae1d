#include "foundation/net/file_watch.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <set>

#include "foundation/base/file_limit.h"

namespace lineward::net {
namespace {

constexpr milliseconds kPoll{2000};
constexpr milliseconds kSettle{200};
// An include (config/reader/include.h) refuses a directory with more entries, and more files of its names.
constexpr size_t kMostEntries = 10'000, kMostFiles = 1000;

std::string identity_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{} {}", status.st_dev, status.st_ino);
}

std::string signature_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {} {}.{}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

// Sorted by name, since the order in the directory may change with any other file.
std::string signature_of_files(const std::string& directory, const FileWatch::Names& names) {
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return "none";
  std::string all = "directory\n";
  std::set<std::string> found;
  size_t entries = 0;
  for (const dirent* entry = readdir(open); entry != nullptr; entry = readdir(open)) {
    const std::string_view name = entry->d_name;
    if (++entries > kMostEntries || found.size() > kMostFiles) {
      all += "and more\n";
      break;
    }
    if (name != "." && name != ".." && names(name)) found.emplace(name);
  }
  closedir(open);
  for (const std::string& name : found)
    all += fmt::format("{} {}\n", name, signature_of(directory + "/" + name));
  return all;
}

// No value: its file system does not answer.
template <class Work>
std::optional<std::string> within_limit(const std::string& path, Work&& work) {
  auto out = std::make_shared<std::string>();
  const bool known = within_file_limit(path, [=] { *out = work(); });
  return known ? std::optional(std::move(*out)) : std::nullopt;
}

std::optional<std::string> identity(const std::string& path) {
  return within_limit(path, [path] { return identity_of(path); });
}

std::optional<std::string> signature(const std::string& path) {
  return within_limit(path, [path] { return signature_of(path); });
}

}  // namespace

FileWatch::Signature FileWatch::look(const std::string& path) {
  return signature(path).value_or(std::string());
}

std::optional<FileWatch::Signature> FileWatch::look_again() const {
  if (!names_) return signature(path_);
  return within_limit(path_, [path = path_, names = names_] { return signature_of_files(path, names); });
}

FileWatch::FileWatch(Loop& loop, const std::string& path, std::function<void()> changed, Signature seen)
    : loop_(loop),
      path_(path),
      changed_(std::move(changed)),
      seen_(std::move(seen)),
      poll_(loop),
      settle_(loop) {
  size_t slash = path.rfind('/');
  directory_ = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  open();
  poll_.start(kPoll, [this] { poll(); });
}

FileWatch::FileWatch(Loop& loop, const std::string& directory, Names names, std::function<void()> changed)
    : loop_(loop),
      path_(directory),
      directory_(directory),
      names_(std::move(names)),
      changed_(std::move(changed)),
      seen_(look_again().value_or(std::string())),
      poll_(loop),
      settle_(loop) {
  open();
  poll_.start(kPoll, [this] { poll(); });
}

bool FileWatch::concerns(std::string_view name) const {
  const bool may_be_all = name.empty() || name.substr(0, 2) == "..";
  return may_be_all || (names_ ? names_(name) : name == name_);
}

void FileWatch::open() {
  events_.close();
  watched_ = identity(directory_).value_or(std::string());
  if (watched_.empty()) return;
  if (events_.open(this, [&](uv_fs_event_t* h) { return uv_fs_event_init(loop_.raw(), h); }) != 0) return;
  auto arrived = [](uv_fs_event_t* h, const char* name, int, int status) {
    auto* self = static_cast<FileWatch*>(h->data);
    if (self == nullptr || status != 0) return;
    if (self->concerns(name == nullptr ? std::string_view() : name)) self->soon();
  };
  if (uv_fs_event_start(events_.get(), arrived, directory_.c_str(), 0) != 0) events_.close();
}

void FileWatch::poll() {
  poll_.start(kPoll, [this] { poll(); });
  const auto directory = identity(directory_), file = look_again();
  if (directory && *directory != watched_) open();
  if (file && *file != seen_) soon();
}

void FileWatch::soon() {
  if (settle_.running()) return;
  settle_.start(kSettle, [this] {
    auto now = look_again();
    // Without an answer the next look finds out. An event may be of a change that was seen.
    if (!now || *now == seen_) return;
    seen_ = std::move(*now);
    if (!seen_.empty()) changed_();
  });
}

}  // namespace lineward::net

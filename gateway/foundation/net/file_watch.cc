#include "foundation/net/file_watch.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string_view>

#include "foundation/base/file_limit.h"

namespace lineward::net {
namespace {

constexpr milliseconds kPoll{2000};
constexpr milliseconds kSettle{200};
constexpr size_t kMostFiles = 4096;  // of a directory
constexpr const char* kDirectory = "directory\n";
constexpr const char* kNoDirectory = "none";

std::string signature_now(const std::string& path, bool identity_only);

// The signatures of a directory's files, in the order of its list.
std::string signature_of_files(const std::string& path) {
  DIR* open = opendir(path.c_str());
  if (open == nullptr) return kNoDirectory;
  std::string all = kDirectory;
  size_t files = 0;
  for (const dirent* entry = readdir(open); entry != nullptr && files < kMostFiles; entry = readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name.empty() || name.front() == '.') continue;
    ++files;
    all += fmt::format("{} {}\n", name, signature_now(path + std::string(name), false));
  }
  closedir(open);
  return all;
}

std::string signature_now(const std::string& path, bool identity_only) {
  if (!path.empty() && path.back() == '/' && !identity_only) return signature_of_files(path);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  if (identity_only) return fmt::format("{} {}", status.st_dev, status.st_ino);
  return fmt::format("{} {} {} {}.{}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

// No value: its file system does not answer.
std::optional<std::string> signature(const std::string& path, bool identity_only) {
  auto out = std::make_shared<std::string>();
  const bool known = within_file_limit(path, [=] { *out = signature_now(path, identity_only); });
  return known ? std::optional(std::move(*out)) : std::nullopt;
}

}  // namespace

FileWatch::Signature FileWatch::look(const std::string& path) {
  return signature(path, false).value_or(std::string());
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

void FileWatch::open() {
  events_.close();
  watched_ = signature(directory_, true).value_or(std::string());
  if (watched_.empty()) return;
  if (events_.open(this, [&](uv_fs_event_t* h) { return uv_fs_event_init(loop_.raw(), h); }) != 0) return;
  auto arrived = [](uv_fs_event_t* h, const char* name, int, int status) {
    auto* self = static_cast<FileWatch*>(h->data);
    if (self == nullptr || status != 0) return;
    std::string_view what = name == nullptr ? std::string_view() : name;
    if (what.empty() || self->name_.empty() || what == self->name_ || what.substr(0, 2) == "..") self->soon();
  };
  if (uv_fs_event_start(events_.get(), arrived, directory_.c_str(), 0) != 0) events_.close();
}

void FileWatch::poll() {
  poll_.start(kPoll, [this] { poll(); });
  const auto directory = signature(directory_, true), file = signature(path_, false);
  if (directory && *directory != watched_) open();
  if (file && *file != seen_) soon();
}

void FileWatch::soon() {
  if (settle_.running()) return;
  settle_.start(kSettle, [this] {
    auto now = signature(path_, false);
    if (!now) return;  // the next look finds out
    seen_ = std::move(*now);
    if (!seen_.empty()) changed_();
  });
}

}  // namespace lineward::net

#include "proxy/audit/audit_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <compare>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "proxy/audit/entry.h"

namespace lineward::audit {
namespace {

// Size of the end of a file that is searched for its last whole record.
constexpr uint64_t kMaxTail = 8 << 20;
constexpr size_t kDigitsOfName = 12;
constexpr size_t kNewestFull = 4;
constexpr int kNameTries = 100;
constexpr int kMaxLinks = 40;
constexpr std::string_view kSeqKey = R"({"seq":)";

std::string because(std::string_view what, const std::string& path, int error) {
  return fmt::format("cannot {} {}: {}", what, path, std::strerror(error));
}

std::string read_at(int fd, uint64_t from, uint64_t size) {
  std::string out(size, '\0');
  size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = ::pread(fd, out.data() + got, out.size() - got, static_cast<off_t>(from + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  out.resize(got);
  return out;
}

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The target of a symbolic link, existing or not: the target is renamed when it is full, not the link. After
// kMaxLinks links the path is opened as it is, and open() returns the error.
std::string followed(std::string path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    std::array<char, PATH_MAX> to{};
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size <= 0) break;
    const std::string target(to.data(), static_cast<size_t>(size));
    path = target.front() == '/' ? target : folder_and_name(path).first + "/" + target;
  }
  return path;
}

// The suffix of a full file's name.
struct FullName {
  uint64_t first = 0;  // first record
  uint64_t again = 0;  // counter for files with the same first record
  friend auto operator<=>(const FullName&, const FullName&) = default;
};

// PATH.FIRST or PATH.FIRST-N. Other programs use digits and dashes too: only names with twelve digits that
// are not dates belong to this log; see full_files().
std::optional<FullName> full_name(std::string_view name, std::string_view base) {
  if (name.size() < base.size() + 1 + kDigitsOfName || name.substr(0, base.size()) != base ||
      name[base.size()] != '.')
    return std::nullopt;
  const std::string_view ending = name.substr(base.size() + 1);
  const auto number = [](std::string_view digits, uint64_t& out) {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
    return std::from_chars(digits.data(), digits.data() + digits.size(), out).ec == std::errc();
  };
  FullName out;
  if (!number(ending.substr(0, kDigitsOfName), out.first)) return std::nullopt;
  const std::string_view behind = ending.substr(kDigitsOfName);
  if (!behind.empty() && (behind.front() != '-' || !number(behind.substr(1), out.again))) return std::nullopt;
  return out;
}

// Sorted.
std::vector<std::pair<FullName, std::string>> named_as_full(const std::string& path) {
  const auto [folder, base] = folder_and_name(path);
  std::vector<std::pair<FullName, std::string>> out;
  std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return out;
  while (const dirent* entry = ::readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (auto full = full_name(entry->d_name, base)) out.emplace_back(*full, folder + "/" + entry->d_name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Whether this is the rest of a file without a complete first record, because of a crash or a full disk.
bool is_torn_beginning(std::string_view whole) {
  if (whole.size() >= kMaxLine || whole.find('\n') != std::string_view::npos) return false;
  const std::string_view begin = kSeqKey.substr(0, whole.size());
  return whole.substr(0, begin.size()) == begin || whole.find_first_not_of('\0') == std::string_view::npos;
}

bool is_on_disk(int fd) {
  return ::fdatasync(fd) == 0 || errno == EINVAL || errno == ENOSYS;  // not supported by this file
}

bool ends_with_newline(int fd, uint64_t size) {
  return read_at(fd, size - 1, 1) == "\n";
}

// The number of the first whole record of a file, behind a torn one; 0 if there is none.
uint64_t first_record(int fd) {
  const std::string head = read_at(fd, 0, 2 * kMaxLine);
  for (std::string_view rest = head; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (auto record = read_record(rest.substr(0, end))) return record->seq;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return 0;
}

// "1", "20261125", "20261125-0412", "old": suffixes added by operators and logrotate.
bool is_others_ending(std::string_view ending) {
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789-_T:") == std::string_view::npos;
  };
  return ending == "old" || ending == "bak" || digits(ending);
}

// Whether another process writes it: then it is another log.
bool is_written(const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return true;
  const bool free = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  ::close(fd);
  return !free;
}

// The newest file with such a suffix.
std::optional<std::string> other_file(const std::string& path) {
  const auto [folder, base] = folder_and_name(path);
  std::optional<std::string> newest;
  timespec when{};
  std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  if (!open) return newest;
  while (const dirent* entry = ::readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const std::string_view name = entry->d_name;
    const bool named_after = name.size() > base.size() + 1 && name.substr(0, base.size()) == base &&
                             (name[base.size()] == '.' || name[base.size()] == '-') &&
                             is_others_ending(name.substr(base.size() + 1));
    if (!named_after || full_name(name, base)) continue;
    std::string whole = folder + "/" + std::string(name);
    struct stat info {};
    if (::lstat(whole.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || is_written(whole)) continue;
    const auto later = [](const timespec& a, const timespec& b) {
      return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
    };
    if (newest && !later(info.st_mtim, when)) continue;
    when = info.st_mtim;
    newest = std::move(whole);
  }
  return newest;
}

}  // namespace

std::vector<std::string> full_files(const std::string& path, uint64_t last) {
  std::vector<std::string> out;
  for (auto& [full, name] : named_as_full(path)) {
    if (full.first <= last) out.push_back(std::move(name));
  }
  return out;
}

AuditFile::AuditFile(std::string path) : path_(followed(std::move(path))) {}

AuditFile::~AuditFile() {
  close();
}

void AuditFile::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (next_ >= 0) ::close(std::exchange(next_, -1));
}

int AuditFile::open_locked(std::string& why) const {
  const int fd = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
  if (fd < 0) {
    why = because("open", path_, errno);
    return -1;
  }
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    why = fmt::format("{} is no file: an audit log is read again, and renamed when it is full", path_);
  } else if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    why = fmt::format(
        "another process writes the audit log {}: give each gateway a file of its own, or end that process "
        "first",
        path_);
  } else {
    return fd;
  }
  ::close(fd);
  return -1;
}

// Searches backwards for the last whole record; a torn record may follow it.
bool AuditFile::find_end(int fd, const std::string& name, Found& found, std::string& why) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    why = because("read", name, errno);
    return false;
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) return true;
  const uint64_t from = size > kMaxTail ? size - kMaxTail : 0;
  const std::string tail = read_at(fd, from, size - from);
  size_t end = tail.rfind('\n');
  while (end != std::string::npos) {
    const size_t before = end == 0 ? std::string::npos : tail.rfind('\n', end - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    auto record = read_record(std::string_view(tail).substr(begin, end - begin));
    if (record && record->whole) {
      found.chain = HashChain(record->seq, std::string(record->hash));
      found.last_type = record->type;
      found.closed = closes_log(*record);
      found.torn = tail.substr(end + 1);
      first_ = std::max<uint64_t>(first_record(fd), 1);
      return true;
    }
    end = before;
  }
  if (is_torn_beginning(tail)) {
    found.torn = tail;
    return true;
  }
  why = fmt::format("{} is no audit log: there is no whole record in its last {} bytes; move it away", name,
                    tail.size());
  return false;
}

Result<AuditFile::Found> AuditFile::open() {
  std::string why;
  const int fd = open_locked(why);
  if (fd < 0) return fail(why);
  fd_ = fd;
  Found found;
  if (!find_end(fd, path_, found, why)) return fail(why);
  struct stat info {};
  ::fstat(fd, &info);
  size_ = static_cast<uint64_t>(info.st_size);
  // Later records begin on a new line.
  if (!found.torn.empty() && !ends_with_newline(fd, size_)) left_ = "\n";
  if (!found.last_type.empty()) return found;
  // A torn end of the previous file and a torn beginning here are one piece, behind the same record.
  const std::string ours = std::exchange(found.torn, {});
  if (!find_before(found, why)) return fail(why);
  found.torn += ours;
  first_ = found.chain.seq() + 1;
  return found;
}

// The file is new: it was rotated, or moved away, or its first record was torn. The chain continues after the
// last record of other files: of the newest full one, or of one renamed by another program.
bool AuditFile::find_before(Found& found, std::string& why) {
  const auto full = named_as_full(path_);
  std::string fault;
  uint64_t faulty = UINT64_MAX;
  size_t seen = 0;
  // Reads several: a file with a torn first record may have an older file's name.
  for (size_t i = full.size(); i > 0 && seen < kNewestFull; --i) {
    const auto& [named, name] = full[i - 1];
    uint64_t last = 0;
    std::string its;
    if (!find_behind(name, found, last, its)) {
      faulty = named.first;
      fault = std::move(its);
    }
    // A file that ends before its own first number has another program's name, such as a date of twelve
    // digits.
    if (last > 0 && last >= named.first) ++seen;
  }
  uint64_t last = 0;
  std::string unused;  // errors of files that are not audit logs are ignored
  if (auto other = other_file(path_)) find_behind(*other, found, last, unused);
  if (fault.empty()) return true;
  // The origin of an unreadable file's name is unknown. The file counts as this log's if it may follow the
  // records found.
  if (!found.last_type.empty() && faulty > found.chain.seq() + 1) return true;
  why = std::move(fault);
  return false;
}

// `last`: the number of its last record.
bool AuditFile::find_behind(const std::string& name, Found& found, uint64_t& last, std::string& why) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    why = because("read", name, errno);
    return false;
  }
  Found its;
  const uint64_t ours = first_;
  const bool fine = find_end(fd, name, its, why);
  first_ = ours;
  ::close(fd);
  if (!fine || its.last_type.empty()) return fine;
  last = its.chain.seq();
  if (last <= found.chain.seq()) return true;
  found.chain = std::move(its.chain);
  found.last_type = std::move(its.last_type);
  found.closed = its.closed;
  // It stays in place, and the first record of the next file reports it.
  found.torn = std::move(its.torn);
  return true;
}

bool AuditFile::write(std::string_view lines) {
  left_ += lines;
  return flush();
}

bool AuditFile::flush() {
  if (!misplaced_.empty() || (fd_ < 0 && !open_new())) return false;
  if ((size_ == 0 || first_ == 0) && !left_.empty()) {
    std::string_view line = left_;
    if (line.front() == '\n') line.remove_prefix(1);
    if (auto record = read_record(line.substr(0, line.find('\n')))) first_ = record->seq;
  }
  while (left_from_ < left_.size()) {
    const ssize_t n = ::write(fd_, left_.data() + left_from_, left_.size() - left_from_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fault_ = because("write", path_, n == 0 ? ENOSPC : errno);
      const size_t line = left_from_ == 0 ? std::string::npos : left_.rfind('\n', left_from_ - 1);
      if (line != std::string::npos) {
        left_.erase(0, line + 1);
        left_from_ -= line + 1;
      }
      return false;
    }
    left_from_ += static_cast<size_t>(n);
    size_ += static_cast<uint64_t>(n);
  }
  left_.clear();
  left_from_ = 0;
  fault_.clear();
  return true;
}

bool AuditFile::sync() {
  unsynced_.clear();
  const bool done = fd_ < 0 || is_on_disk(fd_);
  if (!done) unsynced_ = because("write to the disk", path_, errno);
  return done;
}

// For the file that is about to be closed: the next file starts without an error, which would hide this
// one's.
void AuditFile::sync_behind(const std::string& name) {
  unsynced_.clear();
  if (fd_ >= 0 && !is_on_disk(fd_)) behind_ = because("write to the disk", name, errno);
}

bool AuditFile::moved() const {
  if (fd_ < 0) return false;
  struct stat named {
  }, ours{};
  return ::stat(path_.c_str(), &named) != 0 || ::fstat(fd_, &ours) != 0 || named.st_ino != ours.st_ino ||
         named.st_dev != ours.st_dev;
}

bool AuditFile::open_new() {
  std::string why;
  const int fd = open_locked(why);
  if (fd < 0) {
    fault_ = why;
    return false;
  }
  use(fd);
  return true;
}

void AuditFile::use(int fd) {
  struct stat info {};
  ::fstat(fd, &info);
  close();
  fd_ = fd;
  size_ = static_cast<uint64_t>(info.st_size);
  left_from_ = 0;  // a record begun in the previous file is written whole here
  if (size_ == 0) return;
  // An existing file with content: its numbers are independent of the previous file's.
  first_ = first_record(fd);
  if (!ends_with_newline(fd, size_)) left_.insert(0, "\n");
}

bool AuditFile::rotate(uint32_t keep) {
  std::string name;
  int error = EEXIST;
  for (int i = 0; i < kNameTries && error == EEXIST; ++i) {
    name = fmt::format("{}.{:0{}}{}", path_, first_, kDigitsOfName, i == 0 ? "" : fmt::format("-{}", i));
    error = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
    if (error == EINVAL || error == ENOSYS) {  // the file system does not support RENAME_NOREPLACE
      struct stat there {};
      error = ::stat(name.c_str(), &there) == 0            ? EEXIST
              : ::rename(path_.c_str(), name.c_str()) == 0 ? 0
                                                           : errno;
    }
  }
  if (error != 0) {
    fault_ = because("rename", path_, error);
    return false;
  }
  sync_behind(name);
  close();
  size_ = 0;
  remove_old(keep);
  return open_new();
}

bool AuditFile::open_next() {
  misplaced_.clear();
  next_ = open_locked(misplaced_);
  return next_ >= 0;
}

void AuditFile::take_next() {
  sync_behind(path_ + " (moved away)");
  use(std::exchange(next_, -1));
}

void AuditFile::remove_old(uint32_t keep) const {
  if (keep == 0) return;
  // The newest full file begins with the same record as the renamed one.
  const std::vector<std::string> full = full_files(path_, first_);
  for (size_t i = 0; i + keep < full.size(); ++i)
    ::unlink(full[i].c_str());
}

}  // namespace lineward::audit

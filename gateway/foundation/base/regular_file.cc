#include "foundation/base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "foundation/base/file_limit.h"

namespace lineward {
namespace {

Result<int> refused(int error) {
  errno = error;
  return fail(std::string(std::strerror(error)));
}

}  // namespace

Result<int> open_regular_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return refused(errno);
  struct stat found {};
  if (::fstat(fd, &found) != 0) {
    const int error = errno;
    ::close(fd);
    return refused(error);
  }
  const bool is_null_device = S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3);
  if (S_ISREG(found.st_mode) || is_null_device) return fd;
  ::close(fd);
  if (S_ISDIR(found.st_mode)) return refused(EISDIR);
  errno = 0;
  return fail(std::string("not a regular file"));
}

namespace {

Result<std::string> read_now(const std::string& path, size_t most) {
  const Result<int> fd = open_regular_file(path);
  if (!fd) return fail(fd.error().text);
  std::string text;
  char buffer[16 * 1024];
  int error = 0;
  while (text.size() <= most) {
    const ssize_t got = ::read(*fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  ::close(*fd);
  errno = error;
  if (error != 0) return fail(std::string(std::strerror(error)));
  if (text.size() > most) return fail(fmt::format("larger than {} bytes", most));
  return text;
}

Status<> check_now(const std::string& path, size_t most) {
  const Result<int> fd = open_regular_file(path);
  if (!fd) return fail(fd.error().text);
  struct stat found {};
  const bool fits = ::fstat(*fd, &found) == 0 && static_cast<size_t>(found.st_size) <= most;
  ::close(*fd);
  if (!fits) return fail(fmt::format("larger than {} bytes", most));
  return Done{};
}

// The result lives as long as late work that still writes to it.
template <class Outcome, class Work>
Outcome limited(const std::string& path, Work&& work) {
  auto out = std::make_shared<std::optional<Outcome>>();
  if (within_file_limit(path, [out, work] { *out = work(); })) return std::move(**out);
  errno = ETIMEDOUT;
  return Unexpected<Error>{Error{file_is_late(), false, ETIMEDOUT}};
}

}  // namespace

Result<std::string> read_regular_file(const std::string& path, size_t most) {
  return limited<Result<std::string>>(path, [path, most] { return read_now(path, most); });
}

Status<> check_regular_file(const std::string& path, size_t most) {
  return limited<Status<>>(path, [path, most] { return check_now(path, most); });
}

}  // namespace lineward

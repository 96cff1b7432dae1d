#include "operate/cli/browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace lineward::cli {
namespace {

// The child exits at once, and its own child is detached: the browser belongs to the user.
Status<> spawn(const char* program, const std::string& argument) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string name = program, word = argument;
  char* words[] = {name.data(), word.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program, &files, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return fail(fmt::format("{}: {}", program, std::strerror(error)));
  return Done{};
}

}  // namespace

Browser::~Browser() {
  forget();
}

void Browser::forget() {
  if (!file_.empty()) unlink(file_.c_str());
  file_.clear();
}

Status<> Browser::open(const std::string& address, const std::string& display) {
  if (display.empty()) return fail("there is no screen (DISPLAY, WAYLAND_DISPLAY)");
  const char* folder = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/lineward-console-XXXXXX.html", folder == nullptr ? "/tmp" : folder);
  const int fd = mkostemps(path.data(), 5, O_CLOEXEC);
  if (fd < 0) return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  file_ = path;
  fchmod(fd, 0600);
  const std::string page = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><title>Lineward</title><meta name=\"referrer\" "
      "content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url={0}\"><a href=\"{0}\">The "
      "console</a>\n",
      address);
  const bool whole = write(fd, page.data(), page.size()) == static_cast<ssize_t>(page.size());
  close(fd);
  if (!whole) return fail(fmt::format("{} cannot be written", path));
  return spawn("xdg-open", path);
}

}  // namespace lineward::cli

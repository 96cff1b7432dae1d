#include "operate/cli/copy_self.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "foundation/base/random_id.h"
#include "operate/cli/prepare.h"

namespace lineward::cli {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

// A program with an interpreter needs shared libraries, which are not copied.
bool needs_libraries(int fd) {
  Elf64_Ehdr head{};
  if (pread(fd, &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return false;
  for (unsigned k = 0; k < head.e_phnum; ++k) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(head.e_phoff + uint64_t{k} * head.e_phentsize);
    if (pread(fd, &part, sizeof part, at) != static_cast<ssize_t>(sizeof part)) return false;
    if (part.p_type == PT_INTERP) return true;
  }
  return false;
}

// 0, or an errno.
int copy_bytes(int from, int to, off_t size) {
  off_t done = 0;
  while (done < size) {
    const ssize_t n = sendfile(to, from, &done, static_cast<size_t>(size - done));
    if (n < 0 && errno != EINTR) return errno;
    if (n == 0) return EIO;
  }
  return 0;
}

ExitCode not_copied(const CommandContext& around, const std::string& path, int error) {
  around.err << "lineward: cannot write " << path << ": " << std::strerror(error) << "\n";
  around.err << "  fix   name a folder that exists and can be written\n";
  return error == EACCES || error == EPERM || error == EROFS ? ExitCode::no_permission : ExitCode::failure;
}

}  // namespace

void add_copy_self(CLI::App& app, CopySelfFlags& flags) {
  CLI::App* command =
      app.add_subcommand("copy-self", "Copies this program into a folder, for another container.");
  command->add_option("DIR", flags.folder, "The folder; the file in it is called lineward")->type_name("");
  command->footer(
      "The image needs no shell and no cp. Use the static binary (make static): the other image may lack\n"
      "the libraries of this one.\n"
      "\n"
      "Examples\n"
      "  lineward copy-self /opt/lineward");
}

ExitCode copy_self(const CopySelfFlags& flags, const CommandContext& around) {
  if (flags.folder.empty())
    return bad_usage(around.err, "copy-self takes a folder", "lineward copy-self --help");
  const std::string path = flags.folder + "/lineward";
  const std::string next = fmt::format("{}/.lineward.{}", flags.folder, random_id());
  const int from = open(kSelf, O_RDONLY | O_CLOEXEC);
  struct stat self {};
  if (from < 0 || fstat(from, &self) != 0) {
    around.err << "lineward: cannot read " << kSelf << ": " << std::strerror(errno) << "\n";
    if (from >= 0) close(from);
    return ExitCode::failure;
  }
  constexpr mode_t kProgram = 0755;
  const int to = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kProgram);
  int error = to < 0 ? errno : copy_bytes(from, to, self.st_size);
  const bool shared = needs_libraries(from);
  close(from);
  // Independent of the umask: another user runs it.
  if (to >= 0 && error == 0 && fchmod(to, kProgram) != 0) error = errno;
  if (to >= 0 && close(to) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(next.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    if (to >= 0) unlink(next.c_str());
    return not_copied(around, path, error);
  }
  around.out << path << "\n";
  if (shared)
    around.err << "lineward: this program needs the shared libraries of its system; where they are missing "
                  "it does not "
                  "start. make static builds one that needs none.\n";
  return ExitCode::ok;
}

}  // namespace lineward::cli

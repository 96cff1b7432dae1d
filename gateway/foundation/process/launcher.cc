#include "foundation/process/launcher.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace lineward::process {
namespace {

constexpr const char* kVariable = "LINEWARD_PARENT";

}  // namespace

Launcher follow_launcher() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return Launcher::none;
  const std::string text = value;
  ::unsetenv(kVariable);
  pid_t launcher = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), launcher);
  if (error != std::errc() || end != text.data() + text.size() || launcher <= 0) return Launcher::none;
  // This order matters: a launcher that ends in between is detected by one of the two calls.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return ::getppid() == launcher ? Launcher::alive : Launcher::gone;
}

}  // namespace lineward::process

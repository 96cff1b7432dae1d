#include "operate/cli/full_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "foundation/log/sanitize.h"

namespace lineward::cli {
namespace {

// Alternate screen, no cursor, long lines cut off rather than wrapped; and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?7h\033[?25h\033[?1049l";
// Signals of crashes.
constexpr std::array<int, 6> kCrashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT};

// For the crash handler, which cannot use anything else.
termios crash_settings;
std::array<struct sigaction, kCrashes.size()> crash_handlers;

void tell_terminal(std::string_view bytes) {
  // A failure cannot be handled.
  if (write(STDOUT_FILENO, bytes.data(), bytes.size()) < 0) return;
}

// Restores the terminal, then lets the previous handler run.
extern "C" void lineward_cli_crashed(int signal) {
  tell_terminal(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &crash_settings);
  for (size_t i = 0; i < kCrashes.size(); ++i) {
    if (kCrashes[i] == signal) sigaction(signal, &crash_handlers[i], nullptr);
  }
  raise(signal);
}

}  // namespace

bool FullScreen::possible() {
  const char* kind = std::getenv("TERM");
  const bool able = kind != nullptr && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
  return able && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

FullScreen::FullScreen() {
  tcgetattr(STDIN_FILENO, &before_);
  crash_settings = before_;
  struct sigaction action {};
  action.sa_handler = lineward_cli_crashed;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kCrashes.size(); ++i) {
    struct sigaction old {};
    if (sigaction(kCrashes[i], &action, &old) != 0) continue;
    crash_handlers[i] = old;
    handlers_.emplace_back(kCrashes[i], old);
  }
  enter();
}

FullScreen::~FullScreen() {
  leave();
  for (const auto& [signal, old] : handlers_)
    sigaction(signal, &old, nullptr);
}

void FullScreen::enter() {
  if (on_) return;
  on_ = true;
  termios raw = before_;
  // Signal keys stay: Ctrl-C ends, Ctrl-Z stops.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  tell_terminal(kEnter);
}

void FullScreen::leave() {
  if (!on_) return;
  on_ = false;
  tell_terminal(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

FullScreen::Size FullScreen::size() {
  winsize now{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {};
  return {now.ws_col, now.ws_row};
}

std::string FullScreen::picture(const std::vector<std::string>& lines) {
  std::string out = "\033[H";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\r\n";
    // Before the text: after a line of full width it would erase the last character.
    out += "\033[2K" + terminal_text(lines[i], Colours::ours);
  }
  return out;
}

}  // namespace lineward::cli

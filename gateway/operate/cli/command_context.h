// A command's context: its environment and outputs.
#pragma once

#include <string>
#include <string_view>

#include "config/reader/variables.h"
#include "operate/cli/screen.h"

namespace lineward::cli {

struct CommandContext {
  const config::EnvLookup& env;
  Screen& out;
  Screen& err;

  // Empty if there is no such variable.
  std::string variable(std::string_view name) const;
  // Whether the output is this process's own and a terminal. Tests print into strings.
  bool out_is_terminal() const;
  bool err_is_terminal() const;
  // `word`: always, never or auto. With auto, NO_COLOR and CLICOLOR_FORCE decide, then the terminal.
  bool wants_colour(std::string_view word, bool on_terminal) const;
};

}  // namespace lineward::cli

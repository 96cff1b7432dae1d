// Where a command runs: its environment and where it prints.
#pragma once

#include <string>
#include <string_view>

#include "cli/screen.h"
#include "config/reader/variables.h"

namespace lineward::cli {

struct Surroundings {
  const config::EnvLookup& env;
  Screen& out;
  Screen& err;

  // Empty where there is none of that name.
  std::string variable(std::string_view name) const;
  // They are this process's own and a terminal. Tests print into strings.
  bool out_is_terminal() const;
  bool err_is_terminal() const;
  // `word`: always, never or auto. NO_COLOR and CLICOLOR_FORCE count where the word leaves it open, then the
  // terminal.
  bool wants_colour(std::string_view word, bool on_terminal) const;
};

}  // namespace lineward::cli

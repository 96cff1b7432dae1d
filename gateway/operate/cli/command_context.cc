#include "operate/cli/command_context.h"

#include <unistd.h>

#include <iostream>
#include <optional>

namespace lineward::cli {

std::string CommandContext::variable(std::string_view name) const {
  std::optional<std::string> value = env ? env(name) : std::nullopt;
  return value ? *value : std::string();
}

bool CommandContext::out_is_terminal() const {
  return out.is(std::cout) && isatty(STDOUT_FILENO) == 1;
}

bool CommandContext::err_is_terminal() const {
  return err.is(std::cerr) && isatty(STDERR_FILENO) == 1;
}

bool CommandContext::wants_colour(std::string_view word, bool on_terminal) const {
  if (word != "auto") return word == "always";
  if (!variable("NO_COLOR").empty()) return false;
  const std::string force = variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return on_terminal && variable("TERM") != "dumb";
}

}  // namespace lineward::cli

// `lineward schema`, `completion` and `man`: the binary's reference in the forms for editors, shells and
// man(1). Generated from the program's own tables, so it is always current.
#pragma once

#include <string>
#include <string_view>

#include "operate/cli/exit_codes.h"
#include "operate/cli/prepare.h"

namespace CLI {
class App;
}

namespace lineward::cli {

struct ReferenceFlags {
  std::string shell;  // of `completion`
  std::string page;   // of `man`
};

void add_reference(CLI::App& app, ReferenceFlags& flags);
bool is_reference(std::string_view command);
// `app` already has all commands.
ExitCode run_reference(std::string_view command, const CLI::App& app, const ReferenceFlags& flags,
                       std::string_view version, const CommandContext& around);

}  // namespace lineward::cli

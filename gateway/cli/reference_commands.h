// `lineward schema`, `completion` and `man`: what this binary knows of itself, in the forms that editors,
// shells and man(1) read. All of it is made from the tables that the program itself goes by, so it is never
// behind.
#pragma once

#include <string>
#include <string_view>

#include "cli/exit_codes.h"
#include "cli/prepare.h"

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
// `app` has all commands by now.
ExitCode run_reference(std::string_view command, const CLI::App& app, const ReferenceFlags& flags,
                       std::string_view version, const Surroundings& around);

}  // namespace lineward::cli

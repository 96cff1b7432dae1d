// `lineward copy-self DIR`: copies this program to a folder, for a container that has a server and no
// Lineward (docs/kubernetes.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"

namespace lineward::cli {

struct CopySelfFlags {
  std::string folder;
};

void add_copy_self(CLI::App& app, CopySelfFlags& flags);
// Replaces DIR/lineward atomically.
ExitCode copy_self(const CopySelfFlags& flags, const CommandContext& around);

}  // namespace lineward::cli

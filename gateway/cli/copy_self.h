// `lineward copy-self DIR`: this program as a file in another folder, for a container that has a server and
// no Lineward (docs/kubernetes.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/exit_codes.h"
#include "cli/surroundings.h"

namespace lineward::cli {

struct CopySelfFlags {
  std::string folder;
};

void add_copy_self(CLI::App& app, CopySelfFlags& flags);
// Whoever runs DIR/lineward meanwhile has the old one or the new one whole.
ExitCode copy_self(const CopySelfFlags& flags, const Surroundings& around);

}  // namespace lineward::cli

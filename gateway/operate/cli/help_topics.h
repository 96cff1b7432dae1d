// The output of `lineward help TOPIC`: commands, options by group or name, plugins, and the reasons of
// errors.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "operate/cli/command_context.h"
#include "operate/cli/exit_codes.h"

namespace lineward::cli {

// `topic` is not empty. A word that is a command and an option group prints both.
ExitCode print_topic(const CLI::App& app, const std::vector<std::string_view>& commands,
                     const std::string& topic, const CommandContext& around);

// A Markdown page as plain text: no marks, links as their words.
std::string plain_page(std::string_view markdown);

}  // namespace lineward::cli

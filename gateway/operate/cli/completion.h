// Shell completion scripts for `lineward`, generated from the command-line table.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace lineward::cli {

// For bash, zsh or fish; empty for another word.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace lineward::cli

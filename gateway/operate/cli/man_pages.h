// The pages lineward(1) and lineward.yaml(5) in man(7) format, generated from the tables of commands and
// options.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace lineward::cli {

std::string man_page_of_commands(const CLI::App& app, std::string_view version);
std::string man_page_of_configuration(std::string_view version);

}  // namespace lineward::cli

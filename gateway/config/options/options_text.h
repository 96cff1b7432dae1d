// The option table as text: the commented file with every default, and the pages of `lineward help`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::config {

// conf/every-option.yaml: a valid configuration with every option at its default.
std::string options_yaml();
// The options of one group ("listen", "timeouts", "servers", …) or of all ("options"); empty for an unknown
// topic.
std::string options_help(std::string_view topic);
std::vector<std::string> help_topics();

}  // namespace lineward::config

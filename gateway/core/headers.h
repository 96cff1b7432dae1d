// Header fields on their way through the gateway, in the order in which they came.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lineward::core {

// Names and values were checked where they came in: a token, and no control characters.
using HeaderFields = std::vector<std::pair<std::string, std::string>>;

}  // namespace lineward::core

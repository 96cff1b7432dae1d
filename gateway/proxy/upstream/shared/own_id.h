// Lineward's own ids in a server's answers, progress and subscriptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lineward::upstream {

// Own ids are positive integers. 1.0 means 1, and so does "1", which has no other meaning here. Any other
// text is foreign.
std::optional<int64_t> own_id(std::string_view raw);

}  // namespace lineward::upstream

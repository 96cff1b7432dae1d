// Ids that Lineward gave: what a server's answer, progress or subscription names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lineward::upstream {

// Our ids are positive integers. 1.0 means 1, and so does "1": a peer of ours has no other use for it. Any
// other text is not ours.
std::optional<int64_t> own_id(std::string_view raw);

}  // namespace lineward::upstream

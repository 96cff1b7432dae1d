// Ids that Lineward gave: what a server's answer, progress or subscription names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lineward::upstream {

// Our ids are positive integers; anything else is not ours. 1.0 means 1, "1" does not.
std::optional<int64_t> own_id(std::string_view raw);

// A subscription id may come back in its string form: some servers follow an earlier draft.
std::optional<int64_t> own_subscription_id(std::string_view raw);

}  // namespace lineward::upstream

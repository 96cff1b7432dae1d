// Members of `params._meta` that Lineward sets itself in a client's messages. All other bytes stay. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "foundation/json/json_outline.h"
#include "protocol/mcp/message.h"

namespace lineward::mcp {

// A member's name, plain ASCII without quotes, and its text; without a text there is to be no such member.
using MetaMembers = std::vector<std::pair<std::string, std::string>>;

// A request or a notification with these members, in place of any that it has under these names: twice, in
// other letters (json_case.h) or escaped. `params` and `_meta` are made if they are missing.
json::Text with_meta_members(const Message& message, const MetaMembers& members);

}  // namespace lineward::mcp

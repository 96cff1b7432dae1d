// Checks header fields that third-party plugins set: valid ones only, and none that frames a message or that
// Lineward sets itself.
#pragma once

#include <string_view>

namespace lineward::plugin {

bool may_set_upstream_header(std::string_view name, std::string_view value);
bool may_set_reply_header(std::string_view name, std::string_view value);

}  // namespace lineward::plugin

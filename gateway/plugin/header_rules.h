// Which header fields plugins that are not built in may set: legal ones, and none that says how a message is
// framed or that Lineward makes itself.
#pragma once

#include <string_view>

namespace lineward::plugin {

bool may_set_upstream_header(std::string_view name, std::string_view value);
bool may_set_reply_header(std::string_view name, std::string_view value);

}  // namespace lineward::plugin

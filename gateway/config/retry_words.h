// Words of `retry.on` that no file has: the process itself sets them for a server that it configures.
#pragma once

#include <string_view>

namespace lineward::config {

// `initialize` and `server/discover` are repeated also if they may have been sent: at worst a session begins
// twice. It is for shared gateways, which are started again at once.
inline constexpr std::string_view kRetryHandshake = "handshake";

}  // namespace lineward::config

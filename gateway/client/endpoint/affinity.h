// State for clients without sessions (behaviour.md 5, `isolation: session`): a modern client is known again
// by the `Lineward-Session` header or cookie that it was given, or chose. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/http/admission.h"
#include "config/forward_rules.h"
#include "http/header_list.h"
#include "http/writer.h"

namespace lineward::client {

inline constexpr std::string_view kAffinityHeader = config::kStateHeader;
inline constexpr std::string_view kAffinityCookie = config::kStateCookie;

// What the request names; empty: it names nothing. Refused: more than one, or no name that we would have
// given (16 to 128 characters of A-Z a-z 0-9 - . _ ~; shorter ones meet by accident).
Result<std::string, HttpRefusal> affinity_of(const http::HeaderList& headers);

// Where a client that asked for `asked` comes back with its name: one for all paths below `listen.path`, as
// RFC 6265 (5.1.4) has it; the path of all servers together may be elsewhere.
std::string_view cookie_path(std::string_view listen_path, std::string_view asked);

// What tells a client the name it is to come back with. `path`: where its requests go.
std::vector<http::OutHeader> affinity_headers(const std::string& name, std::string_view path);

}  // namespace lineward::client

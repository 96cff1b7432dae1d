// State for clients without sessions (behaviour.md 5, `isolation: session`). The `Lineward-Session` header or
// cookie, assigned by Lineward or chosen by the client, identifies a modern client across requests. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/forward_rules.h"
#include "protocol/http/header_list.h"
#include "protocol/http/writer.h"
#include "proxy/client/http/admission.h"

namespace lineward::client {

inline constexpr std::string_view kAffinityHeader = config::kStateHeader;
inline constexpr std::string_view kAffinityCookie = config::kStateCookie;

// The state name in the request; empty: there is none. Refused: more than one name, or one that Lineward
// would not generate. A name has 16 to 128 characters of A-Z a-z 0-9 - . _ ~; shorter names could collide by
// accident.
Result<std::string, HttpError> affinity_of(const http::HeaderList& headers);

// The cookie's Path for a request to `asked`: one for all paths below `listen.path`, by RFC 6265 (5.1.4). The
// aggregate's path may be elsewhere.
std::string_view cookie_path(std::string_view listen_path, std::string_view asked);

// Response headers that give the client its state name. `path`: the cookie's Path.
std::vector<http::OutHeader> affinity_headers(const std::string& name, std::string_view path);

}  // namespace lineward::client

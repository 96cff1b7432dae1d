// Somebody was not let in, or may not do what was asked for: in the log and in the audit log, in one place
// for all ways in.
#pragma once

#include <string_view>

#include "admin/plain_http.h"

namespace lineward::admin {

// `who`: by the token, where there is one that is known; else as the peer.
void tell_denied(const PlainRequest& request, std::string_view who, int status);

}  // namespace lineward::admin

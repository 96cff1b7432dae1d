// Logs a denied access or action, in the log and the audit log, for all listeners.
#pragma once

#include <string_view>

#include "operate/admin/plain_http.h"

namespace lineward::admin {

// `who`: the identity of a known token; else the peer.
void tell_denied(const PlainRequest& request, std::string_view who, int status);

}  // namespace lineward::admin

// An access token for an HTTP server that has clientCredentials, got on the same way as the gateway gets one.
// Blocking, with an end.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "doctor/http_line.h"

namespace lineward::doctor {

// Is it one that a token may do away with?
bool wants_token(const config::Server& server, const Asked& asked);

// The value of Authorization with which the server may be asked again; `refusal` is what it answered without.
// The error names the address that gave no token, and nothing of the credentials.
Result<std::string, Step> access_token(const config::Server& server, const Asked& refusal,
                                       std::chrono::milliseconds patience);

}  // namespace lineward::doctor

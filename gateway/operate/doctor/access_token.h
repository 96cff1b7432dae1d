// Gets an access token for an HTTP server with clientCredentials, as the gateway does. Blocking, with a time
// limit.
#pragma once

#include <chrono>
#include <string>

#include "config/config.h"
#include "foundation/base/result.h"
#include "operate/fetch/http_exchange.h"

namespace lineward::doctor {

using fetch::Answer;
using fetch::Step;

// Whether an access token may resolve this answer's error.
bool wants_token(const config::Server& server, const Answer& answer);

// The Authorization value for a second request; `refusal` is the server's answer without one. The error names
// the address that gave no token, and no part of the credentials.
Result<std::string, Step> access_token(const config::Server& server, const Answer& refusal,
                                       std::chrono::milliseconds patience);

}  // namespace lineward::doctor

// Signs JSON Web Tokens (RFC 7515 compact serialisation) with the gateway's own keys, for assertions (RFC
// 7523). Implemented directly on OpenSSL's EVP interface, like the verification of received tokens
// (plugins/auth/jwt_keys.h).
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/base/result.h"

namespace lineward::upstream {

// `claims` is a JSON object, `key` a private key in PEM without a password. Fails when the key cannot be read
// or does not suit the algorithm (RFC 7518 3.3, 3.4: RSA from 2048 bits on, or the matching curve).
Result<std::string> signed_token(std::string_view claims, config::SigningAlgorithm algorithm,
                                 std::string_view key);

}  // namespace lineward::upstream

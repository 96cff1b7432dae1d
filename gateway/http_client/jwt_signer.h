// Signed JSON Web Tokens (RFC 7515 compact serialisation) with keys of the gateway's own, for assertions (RFC
// 7523). By hand over OpenSSL's EVP interface, as is the checking of what others signed
// (plugins/auth/jwt_keys.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/config.h"

namespace lineward::upstream {

// `claims` is a JSON object, `key` a private key in PEM without a password. Fails when the key cannot be read
// or is none for the algorithm (RFC 7518 3.3, 3.4: RSA from 2048 bits on, or the curve that belongs to it).
Result<std::string> signed_token(std::string_view claims, config::SigningAlgorithm algorithm,
                                 std::string_view key);

}  // namespace lineward::upstream

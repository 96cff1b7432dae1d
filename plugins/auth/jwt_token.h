// The form of signed tokens (RFC 7515 compact serialisation, RFC 7519 claims) and every reason for which one
// is refused. Nothing here decides whether a signature is right: plugins/auth/jwt_keys.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::plugins {

enum class JwtFault : uint8_t {
  malformed,
  oversized,
  algorithm,
  type,
  critical,
  unknown_key,
  signature,
  claims,
  issuer,
  audience,
  expired,
  not_yet,
  keys_unavailable,
  count_
};
// For metrics and logs; and a sentence for the client, which says nothing of the token's contents.
std::string_view label(JwtFault fault);
std::string_view sentence(JwtFault fault);

struct JwtToken {
  std::string alg, typ;
  std::optional<std::string> kid;
  std::string_view signed_part;  // of the text that was given
  std::string signature;
  std::string payload;  // JSON text
};

struct JwtClaims {
  std::string issuer, subject;
  std::vector<std::string> audiences, scopes;
  double expires = 0;  // seconds since 1970
  std::optional<double> not_before, issued;
};

// Strict: no padding, no other characters, no bits left over (RFC 4648 3.5).
std::optional<std::string> base64url(std::string_view text);

// `text` must outlive what is returned.
Result<JwtToken, JwtFault> read_token(std::string_view text);
// Call it for payloads whose signature is right only.
Result<JwtClaims, JwtFault> read_claims(const std::string& payload);

}  // namespace lineward::plugins

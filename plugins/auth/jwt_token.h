// The format of signed tokens (RFC 7515 compact serialisation, RFC 7519 claims) and all reasons for rejecting
// one. Signatures are verified in plugins/auth/jwt_keys.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "proxy/core/gate.h"

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
  long_claim,
  issuer,
  audience,
  expired,
  not_yet,
  keys_unavailable,
  count_
};
// For metrics and logs; and a sentence for the client, without any of the token's content.
std::string_view label(JwtFault fault);
std::string_view sentence(JwtFault fault);

struct JwtToken {
  std::string alg, typ;
  std::optional<std::string> kid;
  std::string_view signed_part;  // part of the given text
  std::string signature;
  std::string payload;  // JSON text
};

struct JwtClaims {
  std::string issuer, subject;
  std::vector<std::string> audiences, scopes;
  double expires = 0;  // seconds since 1970
  std::optional<double> not_before, issued;
  std::vector<core::Claim> others;  // the wanted ones that it has
};

// Strict: no padding, no other characters, no bits left over (RFC 4648, section 3.5).
std::optional<std::string> base64url(std::string_view text);

// `text` must outlive the result.
Result<JwtToken, JwtFault> read_token(std::string_view text);
// Call it only for payloads with a verified signature.
// `wanted`: names of further claims, with dots between the levels; a claim of that very name comes first.
// Texts, numbers, booleans and lists of these count, other values do not.
Result<JwtClaims, JwtFault> read_claims(const std::string& payload,
                                        const std::vector<std::string>& wanted = {});

}  // namespace lineward::plugins

#include "plugins/auth/jwt_token.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plugins/auth/strict_json.h"

namespace lineward::plugins {
namespace {

using nlohmann::json;

constexpr size_t kMaxSubject = 256;
constexpr size_t kMaxScopes = 256;
constexpr size_t kMaxValues = 1024;       // of one claim
constexpr double kLatest = 253402300799;  // 9999-12-31

struct FaultRow {
  std::string_view label, sentence;
};
constexpr std::array<FaultRow, static_cast<size_t>(JwtFault::count_)> kFaults{{
    {"malformed", "the access token is no signed JWT"},
    {"oversized", "the access token is too long"},
    {"algorithm", "the access token is signed with an algorithm that is not accepted"},
    {"type", "the token is of another type than an access token"},
    {"critical", "the access token demands extensions that are not known here"},
    {"unknown_key", "the access token is signed with an unknown key"},
    {"signature", "the access token's signature is wrong"},
    {"claims", "the access token lacks a claim that it needs, or has one of a wrong form"},
    {"long_claim", "the access token has a claim for servers that is longer than 4096 bytes"},
    {"issuer", "the access token is of another issuer"},
    {"audience", "the access token is for another resource"},
    {"expired", "the access token has expired"},
    {"not_yet", "the access token is not valid yet"},
    {"keys_unavailable", "the keys that access tokens are checked with cannot be had; try again later"},
}};

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}

// False if it exists and is not a string.
bool read_text(const json& object, const char* name, std::optional<std::string>& out) {
  auto found = object.find(name);
  if (found == object.end()) return true;
  if (!found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

bool read_time(const json& object, const char* name, std::optional<double>& out) {
  auto found = object.find(name);
  if (found == object.end()) return true;
  if (!found->is_number()) return false;
  double value = found->get<double>();
  if (!std::isfinite(value) || value < 0 || value > kLatest) return false;
  out = value;
  return true;
}

// A text or a list of texts.
bool read_texts(const json& value, std::vector<std::string>& out) {
  if (value.is_string()) {
    out.push_back(value.get<std::string>());
    return true;
  }
  if (!value.is_array() || value.size() > kMaxScopes) return false;
  for (const json& one : value) {
    if (!one.is_string()) return false;
    out.push_back(one.get<std::string>());
  }
  return true;
}

bool read_scopes(const json& claims, std::vector<std::string>& out) {
  std::vector<std::string> texts;
  for (const char* name : {"scope", "scp"}) {
    auto found = claims.find(name);
    if (found != claims.end() && !read_texts(*found, texts)) return false;
  }
  for (std::string_view text : texts) {
    while (!text.empty()) {
      size_t end = std::min(text.size(), text.find(' '));
      if (end > 0) out.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  }
  return out.size() <= kMaxScopes;
}

// Names of claims may hold dots themselves ("https://example.com/tenant").
const json* find_claim(const json& object, const std::string& name) {
  const json* at = &object;
  std::string_view rest = name;
  if (auto whole = object.find(name); whole != object.end()) return &*whole;
  while (!rest.empty()) {
    if (!at->is_object()) return nullptr;
    const std::string_view level = rest.substr(0, rest.find('.'));
    auto found = at->find(std::string(level));
    if (found == at->end()) return nullptr;
    at = &*found;
    rest.remove_prefix(std::min(rest.size(), level.size() + 1));
  }
  return at;
}

bool read_values(const json& value, std::vector<std::string>& out) {
  if (value.is_array()) {
    return value.size() <= kMaxValues && std::all_of(value.begin(), value.end(), [&](const json& one) {
             return !one.is_array() && read_values(one, out);
           });
  }
  if (value.is_string()) {
    out.push_back(value.get<std::string>());
    return true;
  }
  const bool counts = value.is_number() || value.is_boolean();
  if (counts) out.push_back(value.dump());
  return counts;
}

// It becomes part of names and log lines.
bool is_subject(const std::string& text) {
  return !text.empty() && text.size() <= kMaxSubject &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

std::string_view label(JwtFault fault) {
  return kFaults[static_cast<size_t>(fault)].label;
}

std::string_view sentence(JwtFault fault) {
  return kFaults[static_cast<size_t>(fault)].sentence;
}

std::optional<std::string> base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xff);
    bits &= (1u << count) - 1;
  }
  if (bits != 0) return std::nullopt;
  return out;
}

Result<JwtToken, JwtFault> read_token(std::string_view text) {
  const Unexpected<JwtFault> malformed{JwtFault::malformed};
  size_t first = text.find('.'), second = first == text.npos ? first : text.find('.', first + 1);
  if (second == text.npos || text.find('.', second + 1) != text.npos) return malformed;
  auto head = base64url(text.substr(0, first));
  auto payload = base64url(text.substr(first + 1, second - first - 1));
  auto signature = base64url(text.substr(second + 1));
  if (!head || !payload || !signature) return malformed;
  auto header = strict_object(*head);
  if (!header) return malformed;
  std::optional<std::string> alg, typ;
  JwtToken token;
  if (!read_text(*header, "alg", alg) || !alg || !read_text(*header, "typ", typ) ||
      !read_text(*header, "kid", token.kid)) {
    return malformed;
  }
  // An unsigned token has no signature either; its error is the missing algorithm.
  if (signature->empty() && *alg != "none") return malformed;
  if (header->contains("crit") || header->contains("b64") || header->contains("zip"))
    return Unexpected<JwtFault>{JwtFault::critical};
  token.alg = *alg;
  token.typ = typ.value_or("");
  token.signed_part = text.substr(0, second);
  token.signature = std::move(*signature);
  token.payload = std::move(*payload);
  return token;
}

Result<JwtClaims, JwtFault> read_claims(const std::string& payload, const std::vector<std::string>& wanted) {
  const Unexpected<JwtFault> wrong{JwtFault::claims};
  auto object = strict_object(payload);
  if (!object) return wrong;
  std::optional<std::string> issuer, subject;
  std::optional<double> expires;
  JwtClaims claims;
  if (!read_text(*object, "iss", issuer) || !read_text(*object, "sub", subject)) return wrong;
  if (!issuer || !subject || !is_subject(*subject)) return wrong;
  if (!read_time(*object, "exp", expires) || !expires) return wrong;
  if (!read_time(*object, "nbf", claims.not_before) || !read_time(*object, "iat", claims.issued))
    return wrong;
  auto audience = object->find("aud");
  if (audience != object->end() && !read_texts(*audience, claims.audiences)) return wrong;
  if (!read_scopes(*object, claims.scopes)) return wrong;
  for (const std::string& name : wanted) {
    const json* found = find_claim(*object, name);
    core::Claim claim{name, {}};
    if (found != nullptr && read_values(*found, claim.values) && !claim.values.empty())
      claims.others.push_back(std::move(claim));
  }
  claims.issuer = std::move(*issuer);
  claims.subject = std::move(*subject);
  claims.expires = *expires;
  return claims;
}

}  // namespace lineward::plugins

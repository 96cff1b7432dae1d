#include "proxy/core/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/identity_words.h"

namespace lineward::core {
namespace {

std::string value_of(std::string_view word, const Caller& caller) {
  if (word == "principal.id") return identity_text(caller.principal);
  if (word == "principal.subject") return identity_text(caller.subject);
  if (word == "principal.kind") return std::string(caller.kind);
  if (word == "principal.issuer") return identity_text(caller.issuer);
  if (word == "principal.scopes") {
    std::string scopes = identity_text(caller.scopes);
    return scopes.size() <= kMaxIdentityValue ? scopes : std::string();
  }
  const Claim* claim = caller.claim(config::claim_of(word));
  return claim == nullptr ? std::string() : identity_text(claim->values);
}

}  // namespace

std::string identity_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inner_blank = c == ' ' && i > 0 && i + 1 < text.size();
    const bool plain = (c > 0x20 && c < 0x7f && c != '%' && c != ',') || inner_blank;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string identity_text(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) {
    if (one.empty()) continue;
    if (!out.empty()) out += ',';
    out += identity_text(one);
  }
  return out;
}

std::string identity_of_caller(std::string_view words, const Caller& caller) {
  std::string out;
  bool is_whole = true;
  config::each_part(
      words, [&](std::string_view text) { out += text; },
      [&](std::string_view word) {
        const std::string value = value_of(word, caller);
        is_whole = is_whole && !value.empty();
        out += value;
      });
  if (!is_whole) out.clear();
  return out;
}

void add_identity(HeaderFields& headers, const std::vector<std::string>& words, const Caller& caller) {
  for (const std::string& one : words) {
    if (std::string value = identity_of_caller(one, caller); !value.empty())
      headers.emplace_back(config::kIdentityMark + one, std::move(value));
  }
}

std::string identity_value(const HeaderFields& headers, std::string_view words) {
  if (!config::has_words(words)) return std::string(words);
  for (const auto& [name, value] : headers) {
    if (is_identity(name) && std::string_view(name).substr(1) == words) return value;
  }
  return {};
}

config::Identity::Map identity_variables(const HeaderFields& headers, const config::Identity::Map& env) {
  config::Identity::Map out;
  for (const auto& [name, words] : env) {
    if (std::string value = identity_value(headers, words); !value.empty())
      out.emplace_back(name, std::move(value));
  }
  return out;
}

std::string_view identity_fault(const Caller& caller) {
  const bool fits = std::all_of(caller.claims.begin(), caller.claims.end(), [](const Claim& claim) {
    return identity_text(claim.values).size() <= kMaxIdentityValue;
  });
  return fits ? std::string_view() : "a claim that servers get is too long";
}

}  // namespace lineward::core

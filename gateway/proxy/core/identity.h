// Values about the caller of a request, for its server (docs/identity.md). They travel among the request's
// headers, each under its words behind config::kIdentityMark: no header of a client begins so. The side
// of the server makes them headers, members of `_meta` or variables. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/forward_rules.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"

namespace lineward::core {

// The limit for the value of one claim: a caller with a longer one is refused when it is authenticated.
// Longer scopes are left out.
inline constexpr size_t kMaxIdentityValue = 4096;

inline bool is_identity(std::string_view header) {
  return !header.empty() && header.front() == config::kIdentityMark;
}

// A text in the alphabet of values: visible ASCII and blanks between. Every other byte, `%` and the comma
// become %XX, so that a comma always separates two elements of a list.
std::string identity_text(std::string_view text);
std::string identity_text(const std::vector<std::string>& list);

// The value of the words for this caller; empty: one of them has none, so the whole has none.
std::string identity_of_caller(std::string_view words, const Caller& caller);
// Adds the values of all these words.
void add_identity(HeaderFields& headers, const std::vector<std::string>& words, const Caller& caller);
// The value of these words among the headers of a request; empty: none. Text without words is its own value.
std::string identity_value(const HeaderFields& headers, std::string_view words);
// The variables of a process that have a value among these headers.
config::Identity::Map identity_variables(const HeaderFields& headers, const config::Identity::Map& env);
// Why a caller cannot be named to the servers of a configuration; empty: it can.
std::string_view identity_fault(const Caller& caller);

}  // namespace lineward::core

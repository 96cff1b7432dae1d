// The forms of a URI for rules: as written, and as servers may interpret it. A server may follow RFC 3986 or
// the WHATWG URL standard, use a file URI as a path, and decode escapes. A rule against one spelling must
// cover all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::plugins {

struct UriForms {
  // The reason for the client why the URI is ambiguous. Empty: it is not.
  std::string_view fault;
  // The normal form: scheme and host in lower case, no default port, no empty user, canonical addresses, no
  // `localhost` in file URIs. Unreserved characters are decoded, invalid ones encoded, and hexadecimal digits
  // in upper case.
  std::string normal;
  // Other interpretations: without user, without fragment, without a file's query, decoded.
  std::vector<std::string> others;
};

// The time is linear in the length.
UriForms uri_forms(std::string_view uri);

// A glob over URIs, with its literal parts normalised. Empty if unchanged.
std::string normal_uri_glob(std::string_view glob);

}  // namespace lineward::plugins

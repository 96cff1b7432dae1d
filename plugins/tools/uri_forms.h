// The forms in which a URI is judged by a rule: as it is written, and as servers may understand it. A server
// may follow RFC 3986 or the URL standard of browsers, may take a file URI for a path, and may decode what is
// encoded: whoever forbids one spelling means all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::plugins {

struct UriForms {
  // Why it cannot be judged, for the client: it has no one meaning. Empty: it can.
  std::string_view fault;
  // The normal form: scheme and host in lower case, no default port and no empty user, an address in one
  // spelling, no `localhost` in file URIs, unreserved characters decoded, what no URI holds encoded, and the
  // digits of what is encoded in upper case.
  std::string normal;
  // What else it may be taken for: without its user, without its fragment, without a file's query, decoded.
  std::vector<std::string> others;
};

// The time is linear in the length.
UriForms uri_forms(std::string_view uri);

// A glob over URIs, normalised as far as it is literal. Empty where that changes nothing.
std::string normal_uri_glob(std::string_view glob);

}  // namespace lineward::plugins

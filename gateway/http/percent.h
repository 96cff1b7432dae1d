// %XX in URLs and forms, decoded in one place: what is no code is refused in a path and in credentials, and
// stays as it is in queries and forms, where browsers leave it too. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lineward::http {

// RFC 3986, 2.1; nothing where a '%' begins no code.
std::optional<std::string> percent_decoded(std::string_view text);

// The value of the first field of this name in a query or in the body of a form
// (application/x-www-form-urlencoded: '+' is a blank); nothing when it is not there, empty when it has no
// value.
std::optional<std::string> form_value(std::string_view fields, std::string_view name);

}  // namespace lineward::http

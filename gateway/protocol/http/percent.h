// Percent-decoding for URLs and forms. An invalid code is refused in a path and in credentials, and left
// unchanged in queries and forms, as browsers do. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lineward::http {

// RFC 3986, 2.1; empty if a '%' begins no valid code.
std::optional<std::string> percent_decoded(std::string_view text);

// The value of the first field of this name in a query or in a form body (application/x-www-form-urlencoded:
// '+' is a space). Empty optional when it is absent, empty string when it has no value.
std::optional<std::string> form_value(std::string_view fields, std::string_view name);

}  // namespace lineward::http

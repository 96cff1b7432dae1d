// Options of other gateways that have another name here, or are not needed: the rows of docs/migration.md.
#pragma once

#include <string_view>

namespace lineward::cli {

// The replacement of `option` ("--cors"); empty for an unknown option.
std::string_view instead_of(std::string_view option);

}  // namespace lineward::cli

// Options of other gateways that have another name here, or are not needed: the rows of docs/migration.md,
// for whoever brings a command line along.
#pragma once

#include <string_view>

namespace lineward::cli {

// What to write instead of `option` ("--cors"); empty for an option that is nobody's we know.
std::string_view instead_of(std::string_view option);

}  // namespace lineward::cli

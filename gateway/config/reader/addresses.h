// Checks the addresses that a configuration listens on against each other.
#pragma once

#include <string_view>

#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Whether two addresses conflict: the same port on overlapping hosts, or the same path. Addresses chosen when
// bound (port 0, `auto`) never conflict.
bool same_place(std::string_view one, std::string_view other);

// Reports conflicts between listen, ops and admin.
void check_addresses(const Node& root, LoadResult& result);

}  // namespace lineward::config

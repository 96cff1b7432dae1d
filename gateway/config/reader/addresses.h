// The addresses that a configuration listens on, looked at together.
#pragma once

#include <string_view>

#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Can only one of the two be had: the same port of hosts of which one takes in the other, or the same path?
// Not of what is chosen when it is bound (port 0, `auto`).
bool same_place(std::string_view one, std::string_view other);

// Notes which of listen, ops and admin want the same.
void check_addresses(const Node& root, LoadResult& result);

}  // namespace lineward::config

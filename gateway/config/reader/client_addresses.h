// Checks the proxies that a listener trusts with its clients' addresses, and the access to its Unix socket.
#pragma once

#include "config/reader/load.h"

namespace lineward::config {

struct Node;

void check_client_addresses(const Node& root, LoadResult& result);

}  // namespace lineward::config

// Checks the proxies that a listener trusts with its clients' addresses, and the access to its Unix socket.
#pragma once

#include <string>

#include "config/reader/load.h"

namespace lineward::config {

struct Member;

// `section`: the listener's, by that name; null: it is not in the file.
void check_client_addresses(const Member* section, const std::string& name, const Listen& listen,
                            LoadResult& result);

}  // namespace lineward::config

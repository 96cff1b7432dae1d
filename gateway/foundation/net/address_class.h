// Whether an address is on the public Internet, or has a local meaning: this machine, a link, a private
// network (IANA special-purpose address registries, RFC 6890).
#pragma once

#include <sys/socket.h>

namespace lineward::net {

bool is_public(const sockaddr& address);

}  // namespace lineward::net

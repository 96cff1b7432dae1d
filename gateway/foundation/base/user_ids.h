// Numbers of users and groups by their names in /etc/passwd and /etc/group. Other sources of names (LDAP) are
// not asked: that could wait for a network.
#pragma once

#include <sys/types.h>

#include <string>

#include "foundation/base/result.h"

namespace lineward {

// `name` may be the number itself. The error is a sentence that names it.
Result<uid_t> user_id(const std::string& name);
Result<gid_t> group_id(const std::string& name);

}  // namespace lineward

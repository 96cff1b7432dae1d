// The text of an error of OpenSSL.
#pragma once

#include <string>

namespace lineward::net {

// The oldest entry of this thread's queue, which names the cause. Leaves the queue empty.
std::string last_tls_error();

}  // namespace lineward::net

// A listener's address as reachable from this machine.
#pragma once

#include <string>

namespace lineward::cli {

// Replaces "every interface" (http://0.0.0.0:8000), which is not a portable connect address, by 127.0.0.1.
std::string reachable(std::string url);

}  // namespace lineward::cli

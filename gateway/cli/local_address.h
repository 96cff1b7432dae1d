// A listener's address as it is reached from this machine.
#pragma once

#include <string>

namespace lineward::cli {

// "http://0.0.0.0:8000" is every interface, to which nobody can connect everywhere: 127.0.0.1 is one of them.
std::string reachable(std::string url);

}  // namespace lineward::cli

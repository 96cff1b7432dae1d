// What a request is about: the name or the URI in its parameters.
#pragma once

#include <string>

#include "mcp/message.h"
#include "mcp/methods.h"

namespace lineward::mcp {

// Empty, or which of them is there and no string. Rules judge names and URIs as text, and what a server makes
// of anything else nobody knows: ["delete_all"] is "delete_all" to some. One that is missing is for the
// server to miss.
std::string target_fault(Method method, const Message& message);

}  // namespace lineward::mcp

// The front's view of the path of a request, for the answer to `lineward/probe` (protocol/mcp/probe.h): names
// of headers, and of values only Host.
#pragma once

#include <chrono>
#include <string>

namespace lineward::client {

class ClientConnection;

// The request being answered: a JSON object in ASCII, as the value of a header.
//   host        as it came, at most 255 bytes, printable ASCII
//   signs       the headers that a proxy adds (proxy_signs.h), by their names in lower case, at most 16
//   direct      no proxy stands between
//   shared      requests of several callers came on this connection
//   connection  a number of its own in this process
//   keepAliveMs listen.keepAlive
std::string front_view(ClientConnection& connection, std::chrono::milliseconds keep_alive);

}  // namespace lineward::client

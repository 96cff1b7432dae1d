// A small public document of a server, fetched for a client: the metadata by which clients find the server's
// authorization server (RFC 9728).
#pragma once

#include <functional>
#include <string>

#include "foundation/base/result.h"

namespace lineward::core {

struct NoDocument {
  int status = 502;  // sent to the client: 404, 502, 503 or 504
  std::string text;  // one plain sentence; no secrets, no server output
};
using DocumentDone = std::function<void(Result<std::string, NoDocument> json)>;

// GET of that path on the server. `done` is called once, never before this returns, and not after the server
// was stopped.
using FetchDocument = std::function<void(const std::string& path, DocumentDone done)>;

}  // namespace lineward::core

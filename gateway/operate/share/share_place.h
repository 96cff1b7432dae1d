// The files of a shared gateway (`lineward stdio --share`), in the directory of control sockets. Their names
// are made of its key (share_key.h), so that clients with the same key find the same gateway.
#pragma once

#include <string>

#include "foundation/base/result.h"

namespace lineward::share {

struct SharePlace {
  std::string directory;
  std::string mcp;    // the socket for MCP
  std::string lease;  // the socket for leases (lease_host.h)
  std::string lock;   // locked by the one that starts the gateway
  std::string log;
};

// Makes the directory if it is missing. The error names what was tried.
Result<SharePlace> share_place(const std::string& key);

// A descriptor of the lock, held; -1: another process holds it. The file is removed with its gateway's other
// files, so a lock on a removed file is taken again. The error is that of the file.
Result<int> take_lock(const std::string& path);

// Removes the files of gateways in this directory that were killed. Leaves those that a process is starting.
void remove_stale(const std::string& directory);

}  // namespace lineward::share

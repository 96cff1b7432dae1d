// Common parts of clients over HTTP and over stdio: the messages that real clients of both eras send.
#pragma once

#include <string>

#include "peer.h"

namespace lineward::wire {

class McpClient : public Peer {
 protected:
  using Peer::Peer;
  // The JSON text of -id.
  std::string id_text(const Command& command) const;
  std::string message(const std::string& id, const std::string& method, const std::string& params) const;
  // The params of `modern`, with their _meta.
  std::string modern_params(const Command& command) const;
  // The options of `legacy`.
  std::string legacy_params(const Command& command) const;
  std::string initialize_params(const Command& command) const;
  // The message of `respond`.
  std::string response(const Command& command) const;
};

}  // namespace lineward::wire

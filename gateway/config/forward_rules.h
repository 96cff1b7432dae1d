// Selects the client's HTTP headers forwarded to an HTTP server (behaviour.md 11; docs/headers.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// Headers that frame a message, belong to one connection or must match the body: they are never configured or
// forwarded.
bool is_own_header(std::string_view name);

// Name the state that Lineward keeps for a modern client (docs/isolation.md). A secret between the client and
// Lineward; never forwarded.
inline constexpr std::string_view kStateHeader = "Lineward-Session";
inline constexpr std::string_view kStateCookie = "lineward-session";

// Begins the name of a value about the caller among a request's headers, before its words. No header of a
// client begins so.
inline constexpr char kIdentityMark = ':';

// The only server of a configuration, if it is an HTTP server and Lineward does not authenticate clients;
// else null. It is the client's counterpart for authorization too.
const Server* plain_sidecar(const Config& config);

// The forwarding rules of one server, prepared for the message path.
class ForwardRules {
 public:
  ForwardRules() = default;
  ForwardRules(const Server& server, bool plain_sidecar);
  // A header of a client, or a value about it (proxy/core/identity.h).
  bool passes(std::string_view name) const;
  // The words about callers that the server gets values of; each once.
  const std::vector<std::string>& words() const { return words_; }
  // Adds the headers that `more` forwards.
  void add(const ForwardRules& more);

 private:
  std::vector<std::string> names_;  // lower case
  std::vector<std::string> globs_;  // lower case
  std::vector<std::string> words_;
  std::vector<std::string> withheld_;  // as folded_header_name() makes them
};

// The error in `forwardHeaders`; empty if there is none.
std::string_view forward_fault(const std::vector<std::string>& patterns);

}  // namespace lineward::config

// Which of a client's HTTP headers may go on to an HTTP server (behaviour.md 11; docs/headers.md). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// Frames a message, belongs to one connection, or must say what the body says: neither configured nor
// forwarded, whoever asks for it.
bool is_own_header(std::string_view name);

// By which a modern client names state that Lineward keeps for it (docs/isolation.md). They are a secret
// between the two, and are never forwarded.
inline constexpr std::string_view kStateHeader = "Lineward-Session";
inline constexpr std::string_view kStateCookie = "lineward-session";

// The one HTTP server of a configuration that has no other and does not authenticate its clients itself;
// null where there is none. It is the client's counterpart for authorization too.
const Server* plain_sidecar(const Config& config);

// The rules of one server, ready for the message path.
class ForwardRules {
 public:
  ForwardRules() = default;
  ForwardRules(const Server& server, bool plain_sidecar);
  bool passes(std::string_view name) const;
  // What one of the two passes.
  void add(const ForwardRules& more);

 private:
  std::vector<std::string> names_;  // lower case
  std::vector<std::string> globs_;  // lower case
};

// What is wrong with `forwardHeaders`; empty when nothing is.
std::string_view forward_fault(const std::vector<std::string>& patterns);

}  // namespace lineward::config

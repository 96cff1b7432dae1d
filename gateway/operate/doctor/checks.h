// The checks of `lineward doctor`, each in NAME_check.cc. Blocking, with an end to each part.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

// ---- the machine: ports, descriptors, socket directories ----

// A running gateway with its address.
struct RunningGateway {
  std::string address;  // host:port, or unix:/path
  int64_t pid = 0;
};
void check_machine(const config::Config& config, const std::vector<RunningGateway>& gateways,
                   Findings& findings);

// ---- a stdio server: started once or twice for a moment, its answers and its exit ----

struct Trial {                                // NOLINT(bugprone-exception-escape)
  std::chrono::milliseconds patience{20000};  // for each answer
  std::string tool;                           // tool to call and cancel; empty: no cancel is tried
  nlohmann::json arguments = nlohmann::json::object();
  bool alone = true;  // no other server is checked that might have the tool
};
// `own`: this process's environment, like the global `environ`.
void check_stdio_server(const config::Server& server, const Trial& trial, const char* const* own,
                        Findings& findings);

// ---- an HTTP server, with one request: name, address, proxy, TLS, status, era, clock ----

void check_http_server(const config::Server& server, std::chrono::milliseconds patience, Findings& findings);

// ---- the keys that verify tokens (`jwt`, jwks.url): are they there, and the issuer's clock ----

// Does nothing unless `entry` is a jwt plugin with a URL. Blocks for at most `patience`.
void check_token_keys(const config::PluginEntry& entry, std::chrono::milliseconds patience,
                      Findings& findings);

// ---- the proxies in front of a Lineward, with `lineward/probe` (protocol/mcp/probe.h) ----
//
// It finds whether leaves arrive, how late events are, which idle timeout cuts a quiet stream, which parts of
// the head and which body pass.

struct FrontTrial {
  std::chrono::milliseconds patience{20000};  // for each answer
  std::chrono::milliseconds idle{20000};      // how long quiet streams are; 0: that is left out
};
// `server`: its url, headers and proxy. If no Lineward that knows the method answers, that is the finding.
void check_front(const config::Server& server, const FrontTrial& trial, Findings& findings);

}  // namespace lineward::doctor

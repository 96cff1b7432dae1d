// The keys that tokens are checked with (`jwt`, jwks.url): whether they can be had, and whether their issuer
// has our time.
#pragma once

#include <chrono>

#include "config/plugin_values.h"
#include "doctor/finding.h"

namespace lineward::doctor {

// Does nothing where `entry` is no jwt with a URL. Blocking, for `patience` at most.
void check_token_keys(const config::PluginEntry& entry, std::chrono::milliseconds patience,
                      Findings& findings);

}  // namespace lineward::doctor

// Checks the keys that verify tokens (`jwt`, jwks.url): whether they can be fetched, and the issuer's clock.
#pragma once

#include <chrono>

#include "config/plugin_values.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

// Does nothing unless `entry` is a jwt plugin with a URL. Blocks for at most `patience`.
void check_token_keys(const config::PluginEntry& entry, std::chrono::milliseconds patience,
                      Findings& findings);

}  // namespace lineward::doctor

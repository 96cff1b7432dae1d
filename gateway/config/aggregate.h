// Rules that combine the names of many servers into one list (behaviour.md 7). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace lineward::config {

// The aggregate's name in place of a server name: its path, which cannot be a server name.
std::string aggregate_path(const Config& config);
std::string rendered_prefix(const Aggregate& aggregate, std::string_view server);
inline bool is_aggregate(std::string_view upstream) {
  return !upstream.empty() && upstream.front() == '/';
}
// Whether this plugin sees a call at the aggregate once, under the aggregate's names. All other plugins see
// each server's request, under the server's own names.
bool counts_once(const PluginEntry& entry);
// Whether an aggregate is served: enabled, with at least two servers.
bool is_aggregated(const Config& config);
// The error in a prefix pattern; empty if it is valid.
std::string_view prefix_fault(std::string_view pattern);
// Two servers where the rendered prefix of one begins with that of the other: names would be ambiguous.
struct PrefixClash {
  std::string shorter, longer;  // names of servers
};
std::optional<PrefixClash> prefix_clash(const Config& config);

}  // namespace lineward::config

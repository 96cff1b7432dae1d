// The rules by which the names of many servers become one list (behaviour.md 7). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace lineward::config {

// What the aggregate is called where servers are named: its path, which no server's name can be.
std::string aggregate_path(const Config& config);
std::string rendered_prefix(const Aggregate& aggregate, std::string_view server);
inline bool is_aggregate(std::string_view upstream) {
  return !upstream.empty() && upstream.front() == '/';
}
// Does this plugin see a call at the aggregate once, under the names there? All others see what each server
// is asked, under its own.
bool counts_once(const PluginEntry& entry);
// Is there an aggregate to serve: is it on, with two servers or more?
bool is_aggregated(const Config& config);
// What is wrong with the pattern of a prefix; empty when nothing is.
std::string_view prefix_fault(std::string_view pattern);
// Two servers of which the rendered prefix of one begins that of the other: then names could not be told
// apart.
struct PrefixClash {
  std::string shorter, longer;  // names of servers
};
std::optional<PrefixClash> prefix_clash(const Config& config);

}  // namespace lineward::config

// The rules by which the names of many servers become one list (BEHAVIOUR 7). Pure.
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
// The plugin that keeps servers from being served as one, or empty: names are others there, and a policy that
// judges names, or is meant for one server, could be passed by.
std::string plugin_against_aggregate(const Config& config);
// Is there an aggregate to serve: is it on, with two servers or more, and no plugin against it?
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

#include "config/aggregate.h"

#include <algorithm>

namespace lineward::config {
namespace {

constexpr std::string_view kPlaceholder = "{server}";

}  // namespace

std::string aggregate_path(const Config& config) {
  return config.aggregate.path.empty() ? config.listen.path : config.aggregate.path;
}

std::string rendered_prefix(const Aggregate& aggregate, std::string_view server) {
  std::string out = aggregate.prefix;
  size_t at = out.find(kPlaceholder);
  if (at != std::string::npos) out.replace(at, kPlaceholder.size(), server);
  return out;
}

bool counts_once(const PluginEntry& entry) {
  if (!entry.servers.empty()) return false;
  if (entry.type == "accessLog" || entry.type == "trace") return true;
  if (entry.type != "rateLimit" && entry.type != "redact") return false;
  // Counting by server or tool uses the server's own names: one bucket for every path to the server.
  const std::string key = entry.type == "rateLimit" ? entry.values.text("key") : std::string();
  const bool by_server = key.find("tool") != std::string::npos || key.find("server") != std::string::npos;
  return entry.values.list("tools").empty() && !by_server;
}

bool is_aggregated(const Config& config) {
  auto served = std::count_if(config.servers.begin(), config.servers.end(),
                              [](const Server& server) { return !server.disabled; });
  return config.aggregate.enabled && served > 1;
}

std::string_view prefix_fault(std::string_view pattern) {
  size_t at = pattern.find(kPlaceholder);
  if (at == std::string_view::npos || pattern.find(kPlaceholder, at + 1) != std::string_view::npos)
    return "a prefix holds {server} once";
  std::string rest =
      std::string(pattern.substr(0, at)) + std::string(pattern.substr(at + kPlaceholder.size()));
  bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
  if (!plain)
    return "a prefix holds letters, digits, _ . - and {server}: names of tools have no other characters";
  return rest.size() > 32 ? "a prefix holds at most 32 characters besides {server}" : std::string_view();
}

std::optional<PrefixClash> prefix_clash(const Config& config) {
  if (!is_aggregated(config) || config.aggregate.prefix_mode == PrefixMode::never) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> prefixes;  // prefix, server name
  for (const Server& server : config.servers) {
    if (!server.disabled) prefixes.emplace_back(rendered_prefix(config.aggregate, server.name), server.name);
  }
  // In sorted order, texts with a common prefix directly follow that prefix.
  std::sort(prefixes.begin(), prefixes.end());
  for (size_t i = 1; i < prefixes.size(); ++i) {
    const auto& [shorter, its] = prefixes[i - 1];
    if (prefixes[i].second == its) continue;  // a duplicate name is another error
    if (prefixes[i].first.compare(0, shorter.size(), shorter) == 0)
      return PrefixClash{its, prefixes[i].second};
  }
  return std::nullopt;
}

}  // namespace lineward::config

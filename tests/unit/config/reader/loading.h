// Loading from text with a pretend environment.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "config/reader/load.h"
#include "plugins/registry.h"

namespace lineward::config::testing {

using Environment = std::map<std::string, std::string, std::less<>>;

inline EnvLookup lookup_in(Environment environment) {
  return [environment = std::move(environment)](std::string_view name) -> std::optional<std::string> {
    auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

inline LoadResult load(std::string text, Environment environment = {}, std::string name = "t.yaml") {
  LoadOptions options;
  options.env = lookup_in(std::move(environment));
  options.plugins = &plugins::specs();
  options.look_at_plugins = false;  // most keys of these tests are nowhere
  return load_text(std::move(text), std::move(name), options);
}

// "no-unit 3:14+2, tab 4:1+1": what, where and how long, in the order of the report.
inline std::string findings(const LoadResult& result) {
  std::string text;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    if (!text.empty()) text += ", ";
    text += diagnostic.code + " " + std::to_string(diagnostic.line) + ":" +
            std::to_string(diagnostic.column) + "+" + std::to_string(diagnostic.length);
  }
  return text;
}

}  // namespace lineward::config::testing

#include "config/options/plugin_spec.h"
#include "config/options/read_value.h"

#include <fmt/format.h>

#include <algorithm>

namespace lineward::config {

Option plugin_option(std::string_view name, Kind kind, std::string_view fallback, uint64_t least,
                     uint64_t most, std::string_view help, std::string_view (*check)(const Value&)) {
  return {name, kind, fallback, least, most, {}, help, check, nullptr, nullptr, nullptr};
}

Option plugin_choice(std::string_view name, std::string_view choices, std::string_view fallback,
                     std::string_view help) {
  return {name, Kind::choice, fallback, 0, 0, choices, help, nullptr, nullptr, nullptr, nullptr};
}

bool PluginEntry::is_for(std::string_view server) const {
  return servers.empty() || std::find(servers.begin(), servers.end(), server) != servers.end();
}

bool PluginEntry::is_at(std::string_view at) const {
  const std::string_view there = at.empty() ? kFirstListener : at;
  return listeners.empty() || std::find(listeners.begin(), listeners.end(), there) != listeners.end();
}

const PluginSpec* find_spec(const PluginSpecs& specs, std::string_view name) {
  for (const PluginSpec* spec : specs) {
    if (spec->name == name) return spec;
  }
  return nullptr;
}

PluginValues plugin_defaults(const PluginSpec& spec) {
  PluginValues values;
  for (const Option& option : spec.options) {
    Value value;
    if (option.kind != Kind::list && option.kind != Kind::map) {
      if (auto read = read_value(option, option.fallback)) value = std::move(*read);
    }
    values.set(option.path, std::move(value));
  }
  return values;
}

std::string plugins_help(const PluginSpecs& specs) {
  std::string out;
  for (const PluginSpec* spec : specs) {
    out += fmt::format("{}{}\n    {}\n", spec->authenticates ? "auth." : "plugins: - ", spec->name,
                       spec->summary);
    for (const Option& option : spec->options) {
      bool needed =
          std::find(spec->required.begin(), spec->required.end(), option.path) != spec->required.end();
      std::string facts =
          option.kind == Kind::choice ? std::string(option.choices) : std::string(kind_name(option.kind));
      if (needed) {
        facts += ", must be given";
      } else if (!option.fallback.empty()) {
        facts += fmt::format(", default {}", option.fallback);
      }
      out += fmt::format("      {} ({})\n          {}\n", option.path, facts, option.help);
    }
  }
  return out;
}

}  // namespace lineward::config

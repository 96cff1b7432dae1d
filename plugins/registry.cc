#include "plugins/registry.h"

#include <array>

#include "plugins/types.h"

namespace lineward::plugins {

plugin::Registry registry() {
  static const std::array kAll{rate_limit(), tool_filter()};
  return kAll;
}

const config::PluginSpecs& specs() {
  static const config::PluginSpecs kSpecs = [] {
    config::PluginSpecs out;
    for (const plugin::Type& type : registry())
      out.push_back(type.spec);
    return out;
  }();
  return kSpecs;
}

}  // namespace lineward::plugins

#include "plugins/registry.h"

#include <array>

#include "plugins/common/types.h"
#include "proxy/plugin/abi/shared_object.h"

namespace lineward::plugins {

plugin::Registry registry() {
  static const std::array kAll{
      access_log(),
      api_key(),
      jwt(),
      trusted_proxy(),
      hook(),
      rate_limit(),
      redact(),
      result_limit(),
      tool_filter(),
      trace(),
      otlp_metrics(),
      otlp_logs(),
      plugin::shared_object(),
  };
  return kAll;
}

const config::PluginSpecs& specs() {
  static const config::PluginSpecs kSpecs = [] {
    config::PluginSpecs out;
    for (const plugin::Type& type : registry()) {
      if (type.spec->name != plugin::kSharedObject) out.push_back(type.spec);  // selected by its path
    }
    return out;
  }();
  return kSpecs;
}

}  // namespace lineward::plugins

// The facts of a client's request for plugins, as of its admission. Callers override facts that differ (a
// member request has its own server, target and size).
#pragma once

#include <string_view>

#include "config/plugin_values.h"
#include "proxy/core/client_request.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugin {

// The name of its listener, as configurations name it; empty on stdio.
inline std::string_view listener_of(const RequestInfo& facts) {
  if (facts.on_stdio) return {};
  return facts.listener.empty() ? config::kFirstListener : facts.listener;
}

inline RequestInfo facts_of(const core::ClientRequest& from) {
  RequestInfo facts;
  facts.call_id = from.call_id;
  facts.upstream = facts.endpoint = from.upstream;
  facts.method_name = from.method_name;
  facts.method = from.method;
  facts.target = from.target;
  facts.era = facts.client_era = from.era;
  facts.revision = from.revision;
  facts.session = from.session;
  facts.peer = from.peer;
  facts.listener = from.listener;
  facts.raw_id = from.raw_id;
  facts.principal = from.principal;
  facts.caller = from.caller.get();
  facts.bytes_in = from.bytes_in;
  facts.on_stdio = from.on_stdio();
  return facts;
}

}  // namespace lineward::plugin

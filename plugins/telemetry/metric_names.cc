#include "plugins/telemetry/metric_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lineward::plugins {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Names of the semantic conventions, keyed by the name without its unit.
constexpr std::array kConventions{
    Pair{"mcp_server_operation_duration", "mcp.server.operation.duration"},
    Pair{"mcp_client_operation_duration", "mcp.client.operation.duration"},
    Pair{"mcp_server_session_duration", "mcp.server.session.duration"},
    Pair{"mcp_client_session_duration", "mcp.client.session.duration"},
    Pair{"http_server_request_duration", "http.server.request.duration"},
    Pair{"http_server_active_requests", "http.server.active_requests"},
};

constexpr std::array kAttributes{
    Pair{"mcp_method_name", "mcp.method.name"},
    Pair{"gen_ai_tool_name", "gen_ai.tool.name"},
    Pair{"gen_ai_prompt_name", "gen_ai.prompt.name"},
    Pair{"error_type", "error.type"},
    Pair{"rpc_response_status_code", "rpc.response.status_code"},
    Pair{"mcp_protocol_version", "mcp.protocol.version"},
    Pair{"network_transport", "network.transport"},
    Pair{"network_protocol_name", "network.protocol.name"},
    Pair{"server_address", "server.address"},
    Pair{"server_port", "server.port"},
    Pair{"http_request_method", "http.request.method"},
    Pair{"http_response_status_code", "http.response.status_code"},
    Pair{"url_scheme", "url.scheme"},
};

bool take_end(std::string_view& text, std::string_view end) {
  const bool there = text.size() > end.size() && text.substr(text.size() - end.size()) == end;
  if (there) text.remove_suffix(end.size());
  return there;
}

}  // namespace

OtlpMetricName otlp_metric_name(std::string_view name, metrics::MetricType type) {
  OtlpMetricName out;
  if (type == metrics::MetricType::counter) take_end(name, "_total");
  out.unit = take_end(name, "_seconds") ? "s" : take_end(name, "_bytes") ? "By" : "1";
  auto found = std::find_if(kConventions.begin(), kConventions.end(),
                            [&](const Pair& one) { return one.first == name; });
  if (found != kConventions.end()) {
    out.name = found->second;
    return out;
  }
  out.name = name;
  if (size_t first = out.name.find('_'); first != std::string::npos) out.name[first] = '.';
  return out;
}

std::string_view otlp_attribute_name(std::string_view label) {
  auto found = std::find_if(kAttributes.begin(), kAttributes.end(),
                            [&](const Pair& one) { return one.first == label; });
  return found == kAttributes.end() ? label : found->second;
}

}  // namespace lineward::plugins

#include "proxy/upstream/shared/era_verdict.h"

#include "config/config.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/modern_server.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {

using mcp::Field;

std::optional<EraVerdict> configured_verdict(const config::Server& server) {
  const bool sse = server.type == config::ServerType::sse;
  if (server.protocol_era == config::Era::automatic && !sse) return std::nullopt;
  EraVerdict verdict;
  verdict.known = true;
  if (server.protocol_era != config::Era::modern || sse) return verdict;
  verdict.era = mcp::Era::modern;
  verdict.versions = {std::string(mcp::kNewestModern)};
  return verdict;
}

EraVerdict verdict_of_discover(const mcp::Message& answer) {
  EraVerdict verdict;
  verdict.known = true;
  const bool result = answer.kind() == mcp::MessageKind::result;
  const Field list = result ? Field::result_supported_versions : Field::error_data_supported;
  if ((result || mcp::error_code(answer) == mcp::kUnsupportedVersion) && answer.has(list))
    verdict.versions = mcp::spoken_versions(answer.raw(list));
  for (const auto& version : verdict.versions) {
    if (mcp::find_revision(version)->era == mcp::Era::modern) verdict.era = mcp::Era::modern;
  }
  if (verdict.era == mcp::Era::legacy) verdict.versions.clear();
  verdict.knows_no_discover = !result && mcp::error_code(answer) == mcp::kMethodNotFound;
  verdict.tells = tells_of(answer);
  if (answer.has(Field::result_meta_server_info))
    verdict.server = describe_implementation(answer.raw(Field::result_meta_server_info));
  return verdict;
}

core::Tells tells_of(const mcp::Message& discovered) {
  if (discovered.kind() != mcp::MessageKind::result) return {};
  auto server = mcp::read_discover_result(discovered);
  if (!server) return {};
  return {server->tools_list_changed, server->prompts_list_changed, server->resources_list_changed};
}

std::string describe_implementation(std::string_view implementation) {
  std::string name = json::string_value(json::member(implementation, "name"));
  std::string version = json::string_value(json::member(implementation, "version"));
  return version.empty() ? name : name + " " + version;
}

}  // namespace lineward::upstream

// The records of the admin API as JSON, and their JSON Schemas, both from one list of members for each kind.
// Texts of clients and servers are sanitized. Session ids, headers, environment and URI user information
// never appear.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "operate/admin/sources.h"

namespace lineward::admin {

// The gateway's own URLs; empty if not available.
struct OwnUrls {
  std::string ops, admin;
};
nlohmann::json status_json(const Sources& sources, const OwnUrls& urls);
nlohmann::json reload_json(const ReloadReport& report);
// A listen has its filter too, and a story its timeline.
enum class CallShape : uint8_t { call, listen, story, ended, ended_story };
nlohmann::json call_json(const exchange::CallView& call, CallShape shape = CallShape::call);
nlohmann::json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now,
                          CallShape shape = CallShape::ended);
nlohmann::json session_json(const client::Session& session, const std::string& public_id,
                            std::chrono::milliseconds now);
// Within WorkerDirectory::paused(). `sessions`: their number. A short one is for `status`; the caller
// completes `processes` and `stderr` of others.
nlohmann::json server_json(const Sources& sources, const config::Server& server, size_t sessions,
                           bool is_short = false);
// The JSON Schemas of these records (openapi.h).
void add_record_schemas(nlohmann::json& to);

// "name version" of an Implementation; empty if there is none.
std::string client_label(std::string_view implementation);

}  // namespace lineward::admin

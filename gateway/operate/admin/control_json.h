// The control API's JSON, as shown by `lineward ps` and `status`. Texts of clients and servers are sanitized.
// Session ids, headers, environment and URI user information never appear.
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
// A server as shown by `status`; within WorkerDirectory::paused(). `sessions`: its number of sessions.
nlohmann::json server_json(const Sources& sources, const config::Server& server, size_t sessions);
nlohmann::json reload_json(const ReloadReport& report);
nlohmann::json call_json(const exchange::CallView& call);
// The events of a call with their times, in order.
nlohmann::json timeline_json(const exchange::CallView& call);
nlohmann::json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now);

// "name version" of an Implementation; empty if there is none.
std::string client_label(std::string_view implementation);
// The filter of a listen, with a limited number of URIs.
nlohmann::json filter_json(std::string_view listens);

}  // namespace lineward::admin

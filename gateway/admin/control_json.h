// The control API's JSON: what `lineward ps` and `status` show. Texts of clients and servers are made
// printable; sessions' ids, headers, environment and what stands before '@' in a URI never appear.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admin/sources.h"

namespace lineward::admin {

// Where it is reached itself; empty: it is not, in this way.
struct OwnUrls {
  std::string ops, admin;
};
nlohmann::json status_json(const Sources& sources, const OwnUrls& urls);
// One server as `status` shows it; within WorkerDirectory::paused(). `sessions`: how many it has.
nlohmann::json server_json(const Sources& sources, const config::Server& server, size_t sessions);
nlohmann::json reload_json(const ReloadReport& report);
nlohmann::json call_json(const exchange::CallView& call);
// What happened to it, and when, in the order in which it did.
nlohmann::json timeline_json(const exchange::CallView& call);
nlohmann::json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now);

// "name version" of an Implementation; empty when there is none.
std::string client_label(std::string_view implementation);
// The wishes of a listen, as many of its URIs as are shown.
nlohmann::json filter_json(std::string_view listens);

}  // namespace lineward::admin

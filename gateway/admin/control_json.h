// The control API's JSON: what `lineward ps` and `status` show. Texts of clients and servers are made
// printable; sessions' ids, headers, environment and what stands before '@' in a URI never appear.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "admin/sources.h"

namespace lineward::admin {

nlohmann::json status_json(const Sources& sources, std::string_view ops_url);
nlohmann::json reload_json(const ReloadReport& report);
nlohmann::json call_json(const exchange::CallView& call);
nlohmann::json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now);

// "name version" of an Implementation; empty when there is none.
std::string client_label(std::string_view implementation);
// Without user and password in URIs.
std::string without_userinfo(std::string_view text);

}  // namespace lineward::admin

// Checks the body of a POST to the admin API: only members of its schema (operate/admin/api_schemas.h), each
// boolean or string as declared. An ignored unknown member would be dangerous: `dry_run` instead of `dryRun`
// would reload. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "operate/admin/api_routes.h"

namespace lineward::admin {

// Discarded if it is not JSON, is nested too deeply, or has a duplicate member: an intermediary might read
// the other value.
nlohmann::json parse_body(const std::string& text);
// Empty, or the error in the body of a request to this route; the body is an object.
std::string body_fault(const ApiRoute& route, const nlohmann::json& body);

}  // namespace lineward::admin

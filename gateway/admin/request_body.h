// What the body of a POST to the admin API may say: the members that its schema names (admin/api_schemas.h),
// each of the type that stands there, boolean or string. A word that nobody reads would seem to be heard:
// `dry_run` for `dryRun` would reload. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "admin/api_routes.h"

namespace lineward::admin {

// Discarded where it is no JSON, is nested deeply, or says a member of the object twice: who looks over the
// request might read the one, and we the other.
nlohmann::json parse_body(const std::string& text);
// Empty, or what is wrong with the body of a request to this route, which is an object.
std::string body_fault(const ApiRoute& route, const nlohmann::json& body);

}  // namespace lineward::admin

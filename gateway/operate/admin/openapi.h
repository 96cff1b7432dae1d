// The admin API as an OpenAPI 3.1 document, generated from the routes and schemas: served at
// /api/v1/openapi.json, and printed by `lineward openapi`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lineward::admin {

nlohmann::json openapi_document(const std::string& version);
// The same, formatted: docs/admin-api.json.
std::string openapi_text(const std::string& version);

}  // namespace lineward::admin

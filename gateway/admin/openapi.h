// The admin API as an OpenAPI 3.1 document, made from the table of routes and the schemas: what the gateway
// answers under /api/v1/openapi.json, and `lineward openapi` prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lineward::admin {

nlohmann::json openapi_document(const std::string& version);
// The same to read: docs/admin-api.json.
std::string openapi_text(const std::string& version);

}  // namespace lineward::admin

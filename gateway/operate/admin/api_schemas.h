// The JSON of the admin API as JSON Schema 2020-12: `components.schemas` of the OpenAPI document. A test
// rejects answers with members that are missing here.
#pragma once

#include <string_view>

namespace lineward::admin {

// An object: name → schema.
std::string_view api_schemas();

}  // namespace lineward::admin

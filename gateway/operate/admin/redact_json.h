// Removes all secrets of the configuration from an answer of the admin API (foundation/log/redaction.h). Keys
// of JSON stay.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lineward::admin {

// Redacts every string in `value`.
void redact_json(nlohmann::json& value);

}  // namespace lineward::admin

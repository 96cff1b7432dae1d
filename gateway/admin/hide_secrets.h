// What the admin API says has no secret of the configuration in it, whoever wrote it there
// (log/redaction.h): the texts of a whole answer at once. Keys of JSON stay.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lineward::admin {

// In every string of it.
void hide_secrets(nlohmann::json& value);

}  // namespace lineward::admin

// What clients and servers read, as a Json: by simdjson, since a third of a world's time went into reading
// it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace lineward::sim {

using Json = nlohmann::json;

// Discarded (is_discarded()) where it is no JSON. Of a name that stands twice the last counts.
Json read_json(std::string_view text);

}  // namespace lineward::sim

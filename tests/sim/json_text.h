// Messages of clients and servers as a Json, by simdjson. Objects are lists of their members, since reading
// took a third of a world's time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::sim {

using Json = nlohmann::ordered_json;

// Discarded (is_discarded()) where it is no JSON. The last of equal names counts.
Json read_json(std::string_view text);

// The elements of an array of objects, each with its own bytes.
std::vector<std::string> elements_of(std::string_view array);

// A member of an object, as it stands there; null, or an empty object, where there is none.
const Json& member_of(const Json& object, const char* name);
const Json& object_in(const Json& object, const char* name);

}  // namespace lineward::sim

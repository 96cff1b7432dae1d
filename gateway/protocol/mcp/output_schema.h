// Converts output schemas of 2026-07-28, which may describe any value, for legacy revisions, which only allow
// objects. Such a value becomes the member `result` of an object.
#pragma once

#include <string>
#include <string_view>

namespace lineward::mcp {

// True for a schema that legacy clients accept: an object with "type":"object". `schema` is JSON text.
bool is_object_schema(std::string_view schema);

// {"type":"object","properties":{"result":<schema>},"required":["result"]}; references into the schema itself
// are moved to its new place. `schema` is valid JSON text that is_object_schema() refused.
std::string wrapped_schema(std::string_view schema);

}  // namespace lineward::mcp

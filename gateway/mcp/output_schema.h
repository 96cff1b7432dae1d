// Output schemas of 2026-07-28, which may describe any value, for the old revisions, which know objects only:
// such a value becomes the member `result` of an object.
#pragma once

#include <string>
#include <string_view>

namespace lineward::mcp {

// True for a schema that old clients read: an object whose "type" is "object". `schema` is JSON text.
bool is_object_schema(std::string_view schema);

// {"type":"object","properties":{"result":<schema>},"required":["result"]}; references into the schema itself
// point to its new place. `schema` is valid JSON text that is_object_schema refused.
std::string wrapped_schema(std::string_view schema);

}  // namespace lineward::mcp

// Raw JSON: finds the exact bytes of a value by its path and splices bytes into an object, without ever
// re-serialising. Pure functions; they expect valid JSON and answer "absent" for anything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::wire {

using Path = std::vector<std::string>;

// "a.b[0]["x/y"].#" → {a, b, 0, x/y, #}; "#" is the length of an array, object or string. Empty on bad
// syntax.
std::optional<Path> parse_path(std::string_view text);

// The bytes of the value at `path` (all of `json` for an empty path); where a key repeats, the first.
std::optional<std::string_view> find_raw(std::string_view json, const Path& path, size_t from = 0);

bool is_json(std::string_view text);
std::string json_quote(std::string_view text);                    // with the quotes
std::optional<std::string> json_string(std::string_view quoted);  // content of a JSON string
std::string one_line(std::string_view json);  // line breaks and the blanks after them → one space

// Puts `members` ("\"a\":1,\"b\":2") at the front of the object `json`, or of its member `_meta`, made if
// missing.
std::string splice_front(std::string_view json, std::string_view members);
std::string splice_meta(std::string_view params, std::string_view members);

}  // namespace lineward::wire

// A tool's command-line arguments: k=v, typed by the tool's inputSchema. Pure but for `read`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::mcp_client {

// The content of a file, for k=@file. The error names the file.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Converts a text to a value of that schema; `root` resolves its $refs. The error names the expected type.
Result<nlohmann::json> typed_value(const nlohmann::json& schema, const nlohmann::json& root,
                                   std::string_view text);

// `words`: k=v (a list: k=v twice, or JSON), k=@file; k=@@v is the text "@v". They are added to `arguments`.
// Names unknown to a closed schema are refused.
Result<nlohmann::json> with_words(nlohmann::json arguments, const std::vector<std::string>& words,
                                  const nlohmann::json& schema, const ReadFile& read);

// The missing required arguments; each as "name (type): description".
std::vector<std::string> missing(const nlohmann::json& arguments, const nlohmann::json& schema);

// "string", "integer", "string[]", `"a" | "b"`; "any" if the schema names no type.
std::string type_words(const nlohmann::json& schema, const nlohmann::json& root);
// The schema of a property, with its $ref followed; an empty object if there is none.
const nlohmann::json& property(const nlohmann::json& schema, const std::string& name);
bool is_required(const nlohmann::json& schema, const std::string& name);
// Names of the properties, required ones first; at most `most`.
std::vector<std::string> property_names(const nlohmann::json& schema, size_t most);

}  // namespace lineward::mcp_client

// Arguments of a tool as people type them: k=v, typed by the tool's inputSchema. Pure but for `read`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::mcp_client {

// What stands in a file, for k=@file. The error names the file.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// One text as a value of that schema; `root` is where its $refs lead. The error says what was wanted.
Result<nlohmann::json> typed_value(const nlohmann::json& schema, const nlohmann::json& root,
                                   std::string_view text);

// `words`: k=v (a list: k=v twice, or JSON), k=@file; k=@@v is the text "@v". They are added to `arguments`.
// Names that a closed schema does not have are refused.
Result<nlohmann::json> with_words(nlohmann::json arguments, const std::vector<std::string>& words,
                                  const nlohmann::json& schema, const ReadFile& read);

// The required ones that are not there; "path (string): Where it is." each.
std::vector<std::string> missing(const nlohmann::json& arguments, const nlohmann::json& schema);

// "string", "integer", "string[]", `"a" | "b"`; "any" where the schema does not say.
std::string type_words(const nlohmann::json& schema, const nlohmann::json& root);
// The schema of a property, its $ref followed; empty object where there is none.
const nlohmann::json& property(const nlohmann::json& schema, const std::string& name);
bool is_required(const nlohmann::json& schema, const std::string& name);
// Names of the properties, those that are required first; at most `most`.
std::vector<std::string> property_names(const nlohmann::json& schema, size_t most);

}  // namespace lineward::mcp_client

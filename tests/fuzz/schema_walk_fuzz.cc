// Schemas of hostile servers, and the arguments of calls, walked once. The result equals that of a slow
// reader that looks at each level by itself. A repaired schema keeps its bounds. The input is a schema, a
// line break, and arguments.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/output_schema.h"
#include "protocol/mcp/param_headers.h"
#include "protocol/mcp/tool_schema.h"

using namespace lineward;

namespace {

using Path = std::vector<std::string>;

// The paths of all annotations that a chain of properties leads to, in the order in which their schemas end.
void find_annotations(std::string_view schema, Path& path, std::vector<Path>& out) {
  if (schema.empty() || schema.front() != '{') return;
  json::for_each_member(schema, [&](const std::string& key, std::string_view value) {
    if (key != "properties") return;
    json::for_each_member(value, [&](const std::string& name, std::string_view inner) {
      path.push_back(name);
      find_annotations(inner, path, out);
      path.pop_back();
    });
  });
  if (!path.empty() && json::member(schema, "x-mcp-header")) out.push_back(path);
}

std::optional<std::string_view> argument(std::string_view arguments, const Path& path) {
  std::optional<std::string_view> at = arguments;
  for (const std::string& name : path) {
    if (!at || at->empty() || at->front() != '{') return std::nullopt;
    at = json::member(*at, name);
  }
  return at;
}

bool is_scalar(std::string_view raw) {
  return raw != "null" && raw.front() != '{' && raw.front() != '[';
}

std::string_view without_space(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  return text;
}

// A repaired schema is one of an object with properties, and its growth is bounded.
void check_repair(std::string_view schema) {
  mcp::SchemaBudget budget;
  const mcp::RepairedSchema repaired = mcp::repaired_schema(schema, budget);
  const std::string after = repaired.text.value_or(std::string(schema));
  LW_CHECK(json::validate(after, json::kDepthCeiling) == json::Fault::none);
  LW_CHECK(mcp::is_object_schema(after));
  const auto properties = json::member(after, "properties");
  LW_CHECK(properties && properties->front() == '{');
  constexpr size_t kAdded = mcp::kEmptySchema.size();
  LW_CHECK(after.size() <= std::max(schema.size() * 2, mcp::kMaxSchemaBytes) + kAdded);
  LW_CHECK(budget.work <= mcp::kMaxSchemaWork);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t line = all.find('\n');
  const std::string_view schema = without_space(all.substr(0, line));
  const std::string_view arguments =
      line == std::string_view::npos ? std::string_view() : without_space(all.substr(line + 1));
  if (schema.empty() || schema.front() != '{' || json::validate(schema) != json::Fault::none) return 0;

  const std::string wrapped = mcp::wrapped_schema(schema);
  LW_CHECK(json::validate(wrapped, json::kMaxDepth + 8) == json::Fault::none);
  LW_CHECK(mcp::is_object_schema(wrapped));

  check_repair(schema);
  auto params = mcp::read_param_headers(schema);
  if (!params) {
    LW_CHECK(!params.error().text.empty());
    return 0;
  }
  std::vector<Path> paths;
  Path path;
  find_annotations(schema, path, paths);
  LW_CHECK(params->size() == paths.size());
  for (size_t i = 0; i < paths.size(); ++i)
    LW_CHECK((*params)[i].path == paths[i]);

  if (arguments.empty() || json::validate(arguments) != json::Fault::none) return 0;
  const mcp::HeaderPairs headers = mcp::make_param_headers(*params, arguments);
  const std::string twice = mcp::argument_fault(*params, arguments);
  LW_CHECK(mcp::param_header_fault(*params, arguments, headers) == twice);
  if (!twice.empty()) return 0;
  size_t most = 0;
  for (const Path& one : paths) {
    auto raw = argument(arguments, one);
    if (raw && is_scalar(*raw)) ++most;
  }
  LW_CHECK(headers.size() <= most);  // numbers that no header can carry have none
  size_t at = 0;
  for (size_t i = 0; i < paths.size() && at < headers.size(); ++i) {
    if ((*params)[i].header != headers[at].first) continue;
    auto raw = argument(arguments, paths[i]);
    LW_CHECK(raw && is_scalar(*raw));
    ++at;
  }
  LW_CHECK(at == headers.size());
  return 0;
}

#include "operate/cli/server_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {

using nlohmann::json;

std::optional<ExitCode> wrong_server(const std::string& socket, const std::string& name,
                                     const CommandContext& around) {
  constexpr const char* kPath = "/api/v1/servers";
  auto all = ask_pages(socket, kPath, "servers");
  if (!all) return failed(around, socket, all.error().text);
  if (all->status != 200) return refused(around, socket, kPath, *all);
  std::vector<std::string> names;
  for (const json& one : all->body["servers"])
    names.push_back(text_of(one, "name"));
  if (std::find(names.begin(), names.end(), name) != names.end()) return std::nullopt;
  const std::string_view likely =
      config::nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
  around.err << fmt::format("error: there is no server '{}'{}\n", config::clip(name),
                            likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely));
  around.err << "  fix    lineward servers lists them\n";
  return ExitCode::failure;
}

}  // namespace lineward::cli

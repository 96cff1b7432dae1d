#include "config/server_environment.h"

#include <algorithm>

#include "config/environment.h"

namespace lineward::config {

std::vector<std::string> server_environment(const Server& server, const char* const* own,
                                            const Identity::Map& about_caller) {
  std::vector<std::string> out;
  auto given = [&](std::string_view name) {
    const auto is_it = [&](const auto& entry) { return entry.first == name; };
    return std::any_of(server.env.begin(), server.env.end(), is_it) ||
           std::any_of(server.identity.env.begin(), server.identity.env.end(), is_it);
  };
  for (const char* const* entry = own; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!given(name) && inherits(server, name)) out.emplace_back(text);
  }
  for (const auto& [key, value] : server.env)
    out.push_back(key + "=" + value);
  for (const auto& [key, value] : about_caller)
    out.push_back(key + "=" + value);
  return out;
}

}  // namespace lineward::config

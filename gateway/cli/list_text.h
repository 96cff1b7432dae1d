// What servers, server, sessions and subs print: text for people from the admin API's JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/cells.h"

namespace lineward::cli {

// "812 B", "1.5 MiB"
std::string short_bytes(double bytes);

std::string servers_table(const nlohmann::json& servers, const Style& style);
// All that is known of one server.
std::string server_text(const nlohmann::json& server, const Style& style);
// Who answers, who hears and who has a session at a server.
struct ServerWork {
  int64_t calls = 0;  // in flight and waiting
  int64_t listens = 0;
  int64_t sessions = 0;
  bool any() const { return calls + listens + sessions > 0; }
};
ServerWork work_of(const nlohmann::json& server);
// "3 calls, 1 listen and 2 sessions"; empty where there is none.
std::string work_text(const ServerWork& work);
// The action ends it at once, which nobody should do by mistake.
bool ends_work(std::string_view action, bool force);
// What the action does to it, and that it was done.
std::string action_effect(std::string_view action, bool force, const ServerWork& work);
std::string action_done(std::string_view action, const std::string& name, bool force, const ServerWork& work);

std::string sessions_table(const nlohmann::json& sessions, const Style& style);
// Servers, whose listens, and what each listens for.
std::string listens_tree(const nlohmann::json& listens, const Style& style);

}  // namespace lineward::cli

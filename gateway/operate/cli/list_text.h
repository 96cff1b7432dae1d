// The output of servers, server, sessions and subs: text from the admin API's JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "operate/cli/cells.h"

namespace lineward::cli {

// "812 B", "1.5 MiB"
std::string short_bytes(double bytes);

std::string servers_table(const nlohmann::json& servers, const Style& style);
// All known details of one server.
std::string server_text(const nlohmann::json& server, const Style& style);
// The calls, listens and sessions of a server.
struct ServerWork {
  int64_t calls = 0;  // in flight and waiting
  int64_t listens = 0;
  int64_t sessions = 0;
  bool any() const { return calls + listens + sessions > 0; }
};
ServerWork work_of(const nlohmann::json& server);
// "3 calls, 1 listen and 2 sessions"; empty if there are none.
std::string work_text(const ServerWork& work);
// Whether the action ends work at once, which needs confirmation.
bool ends_work(std::string_view action, bool force);
// The effect of the action, and the confirmation that it is done.
std::string action_effect(std::string_view action, bool force, const ServerWork& work);
std::string action_done(std::string_view action, const std::string& name, bool force, const ServerWork& work);

std::string sessions_table(const nlohmann::json& sessions, const Style& style);
// A tree of servers, listeners, and the items each listens to.
std::string listens_tree(const nlohmann::json& listens, const Style& style);

}  // namespace lineward::cli

// What ps, cancel and status print: text for people from the control API's JSON. Pure, so that tests can read
// it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/cells.h"

namespace lineward::cli {

// Of a call, one sentence or word each: who made it, how far it is, what it is for, and where it goes to.
std::string client_text(const nlohmann::json& call);
std::string progress_text(const nlohmann::json& call);
std::string state_text(const nlohmann::json& call);
std::string target_text(const nlohmann::json& call);
std::string upstream_text(const nlohmann::json& call);

// "0.8s", "29s", "4m02s", "31m", "3h04m", "3d04h"
std::string short_time(int64_t ms);
// The same, and "120ms" below a second.
std::string exact_time(int64_t ms);

// "1 call", "3 calls"
std::string counted(int64_t count, std::string_view one);

std::string calls_table(const nlohmann::json& calls, const Style& style);
// All that is known of one call.
std::string call_text(const nlohmann::json& call, const Style& style);
// What happened to it, and when, line by line.
std::string timeline_text(const nlohmann::json& call);
// One line: what a cancel did.
std::string cancel_line(const nlohmann::json& ended, int64_t grace_ms);
// "it ended 12s ago: timeout_request after 60s"
std::string end_line(const nlohmann::json& ended);
// The plan of a reload, and what came of it.
std::string reload_text(const nlohmann::json& report);
std::string status_screen(const nlohmann::json& status, const Style& style);

}  // namespace lineward::cli

// The output of ps, cancel and status: text from the control API's JSON. Pure, so that tests can read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "operate/cli/cells.h"

namespace lineward::cli {

// Fields of a call as text: its client, progress, state and target.
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

// The colour of a server's state, for paint().
const char* state_colour(const std::string& state);
// A line of the details of a call or server; empty without a value.
std::string detail_line(std::string_view key, const std::string& value);

std::string calls_table(const nlohmann::json& calls, const Style& style);
// All known details of one call.
std::string call_text(const nlohmann::json& call, const Style& style);
// The events of a call with their times, one per line.
std::string timeline_text(const nlohmann::json& call);
// A line with the effect of a cancel.
std::string cancel_line(const nlohmann::json& ended, int64_t grace_ms);
// "it ended 12s ago: timeout_request after 60s"
std::string end_line(const nlohmann::json& ended);
// The plan of a reload, and its result.
std::string reload_text(const nlohmann::json& report);
std::string status_screen(const nlohmann::json& status, const Style& style);

}  // namespace lineward::cli

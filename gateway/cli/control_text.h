// What ps, cancel and status print: text for people from the control API's JSON. Pure, so that tests can read
// it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lineward::cli {

// "0.8s", "29s", "4m02s", "31m", "3h04m", "3d04h"
std::string short_time(int64_t ms);

struct Style {
  bool colour = false;
  bool wide = false;  // nothing is cut
  size_t width = 0;   // of the terminal; 0: unknown
};

std::string calls_table(const nlohmann::json& calls, const Style& style);
// All that is known of one call.
std::string call_text(const nlohmann::json& call, const Style& style);
// One line: what a cancel did.
std::string cancel_line(const nlohmann::json& ended, int64_t grace_ms);
// "it ended 12s ago: timeout_request after 60s"
std::string end_line(const nlohmann::json& ended);
// The plan of a reload, and what came of it.
std::string reload_text(const nlohmann::json& report);
std::string status_screen(const nlohmann::json& status, const Style& style);

}  // namespace lineward::cli

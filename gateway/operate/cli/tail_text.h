// The output of `lineward tail`: a filter of events, and a line for each. It remembers shown server states,
// and prints changes only. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "operate/cli/cells.h"
#include "operate/cli/stream_event.h"

namespace lineward::cli {

struct TailFilter {
  std::string upstream;
  bool errors = false;  // failures only
  bool takes(const StreamEvent& event) const;
};

class TailLines {
 public:
  TailLines(TailFilter filter, const Style& style, bool with_calls, bool with_servers)
      : filter_(std::move(filter)), style_(style), with_calls_(with_calls), with_servers_(with_servers) {}

  // The line with its line end; empty: not shown. `time`: of arrival, "15:04:05.123".
  std::string text(const StreamEvent& event, const std::string& time);
  // A line of JSON, regardless of earlier output.
  std::string json(const StreamEvent& event, const std::string& iso_time) const;

 private:
  std::string of_call(const StreamEvent& event, const std::string& time) const;
  std::string of_server(const nlohmann::json& server, const std::string& time);
  std::string of_log(const StreamEvent& event, const std::string& time) const;
  std::string line(const std::string& time, std::string_view what, const char* colour,
                   const std::string& rest) const;

  const TailFilter filter_;
  const Style style_;
  const bool with_calls_, with_servers_;
  std::map<std::string, std::string> states_;  // last shown states of servers
};

// The meaning of a `lost` event, as one sentence.
std::string lost_text(const nlohmann::json& lost);

}  // namespace lineward::cli

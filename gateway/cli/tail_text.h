// What `lineward tail` prints: which events are wanted, and a line for each. Knows what it has shown of
// servers, so that a state is told when it changes. Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/cells.h"
#include "cli/stream_event.h"

namespace lineward::cli {

struct TailFilter {
  std::string upstream;
  bool errors = false;  // only what went wrong
  bool takes(const StreamEvent& event) const;
};

class TailLines {
 public:
  TailLines(TailFilter filter, const Style& style, bool with_calls, bool with_servers)
      : filter_(std::move(filter)), style_(style), with_calls_(with_calls), with_servers_(with_servers) {}

  // With its line end; empty: it is not shown. `time`: when it came, "15:04:05.123".
  std::string text(const StreamEvent& event, const std::string& time);
  // As one line of JSON, whatever was shown before.
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
  std::map<std::string, std::string> states_;  // of servers, as they were shown
};

// What a `lost` event means, as one sentence.
std::string lost_text(const nlohmann::json& lost);

}  // namespace lineward::cli

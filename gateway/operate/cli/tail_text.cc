#include "operate/cli/tail_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

// Limit of a map with externally chosen names.
constexpr size_t kMaxStates = 2000;
constexpr const char* kRed = "31";
constexpr const char* kYellow = "33";
constexpr const char* kGreen = "32";
constexpr const char* kDim = "2";

bool starts(const std::string& text, std::string_view with) {
  return text.compare(0, with.size(), with) == 0;
}

bool is_of_call(const std::string& type) {
  return starts(type, "call.") || starts(type, "listen.");
}

std::string last_word(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

bool is_worse(const json& line) {
  const std::string level = text_of(line, "level");
  return level == "warn" || level == "error";
}

bool is_bad_state(const std::string& state) {
  return state == "failed" || state == "backoff" || state == "open";
}

bool went_well(const json& ended) {
  const mcp::EndReasonRow* row = mcp::end_reason(text_of(ended, "reason"));
  return row != nullptr && mcp::has(row->reason, mcp::kExpected);
}

std::string field_text(const std::string& key, const json& value) {
  const bool text = value.is_string();
  const std::string shown = text ? value.get<std::string>() : value.dump();
  const bool quotes = text && (shown.empty() || shown.find_first_of(" =\"") != std::string::npos);
  return fmt::format(" {}={}", key, quotes ? value.dump() : shown);
}

// Fields of a log line without their own place in the output, the most important first.
std::string other_fields(const json& line) {
  constexpr std::array<std::string_view, 6> kShown{"time", "level", "event", "upstream", "pid", "line"};
  constexpr std::array<std::string_view, 8> kFirst{"action", "call",    "method", "target",
                                                   "reason", "outcome", "why",    "dur_ms"};
  std::string out;
  for (const std::string_view key : kFirst) {
    if (auto found = line.find(key); found != line.end()) out += field_text(std::string(key), *found);
  }
  for (const auto& [key, value] : line.items()) {
    const bool done = std::find(kShown.begin(), kShown.end(), key) != kShown.end() ||
                      std::find(kFirst.begin(), kFirst.end(), key) != kFirst.end();
    if (!done) out += field_text(key, value);
  }
  return out.empty() ? out : out.substr(1);
}

// A log line that is also an event of another name.
bool is_told_twice(const std::string& event, bool with_calls, bool with_servers) {
  if (with_calls && starts(event, "call.")) return true;
  return with_servers &&
         (starts(event, "upstream.") || starts(event, "session.") || starts(event, "config.") ||
          starts(event, "admin.") || event == "drain" || event == "stop");
}

}  // namespace

bool TailFilter::takes(const StreamEvent& event) const {
  const json& data = event.data;
  if (event.type == "lost" || event.type == "hello") return true;
  if (!upstream.empty()) {
    const bool state = starts(event.type, "server.") && has(data, "name");
    const std::string name = text_of(data, state ? "name" : "upstream");
    if (name != upstream && text_of(data, "route") != upstream) return false;
  }
  if (!errors) return true;
  if (is_of_call(event.type)) return last_word(event.type) == "end" && !went_well(data);
  if (event.type == "server.state") return is_bad_state(text_of(data, "state"));
  return event.type == "server.exit" || is_worse(data);
}

std::string lost_text(const json& lost) {
  const std::string reason = text_of(lost, "reason");
  std::string groups;
  for (const json& one : member_of(lost, "groups")) {
    if (one.is_string()) groups += (groups.empty() ? "" : ", ") + one.get<std::string>();
  }
  if (reason == "restarted") return "lost: another process answers now; what happened between is not known";
  if (reason == "too_many")
    return fmt::format("lost: {} of {} were left out, there were too many in a second",
                       counted(number_of(lost, "events"), "event"), groups.empty() ? "all kinds" : groups);
  return fmt::format("lost: events of {} are missing, they came faster than they were read",
                     groups.empty() ? "all kinds" : groups);
}

std::string TailLines::text(const StreamEvent& event, const std::string& time) {
  if (event.type == "lost") return line(time, "lost", kRed, lost_text(event.data).substr(6));
  if (!filter_.takes(event) || event.type == "hello") return {};
  if (is_of_call(event.type)) return of_call(event, time);
  if (event.type == "server.state") return of_server(event.data, time);
  if (event.type == "server.gone") {
    states_.erase(text_of(event.data, "name"));
    return line(time, "gone", kYellow, text_of(event.data, "name") + "  a reload has taken it away");
  }
  if (event.type == "log" && is_told_twice(text_of(event.data, "event"), with_calls_, with_servers_))
    return {};
  return of_log(event, time);
}

std::string TailLines::json(const StreamEvent& event, const std::string& iso_time) const {
  if (!filter_.takes(event)) return {};
  nlohmann::json out{{"event", event.type}, {"time", iso_time}, {"data", event.data}};
  if (!event.id.empty()) out["id"] = event.id;
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string TailLines::of_call(const StreamEvent& event, const std::string& time) const {
  const nlohmann::json& call = event.data;
  const std::string target = target_text(call);
  std::string what = last_word(event.type), about;
  const char* colour = nullptr;
  if (what == "begin") {
    const std::string who = client_text(call);
    if (!who.empty()) about = "from " + who;
  } else if (what == "phase") {
    // That it runs adds nothing to its begin and end.
    const std::string state = text_of(call, "state");
    if (state != "queued" && state != "starting" && state != "input") return {};
    what = "waits";
    colour = kYellow;
    about = state == "starting" ? "for its server to start" : state_text(call);
  } else if (what == "progress") {
    about = progress_text(call);
    colour = kDim;
  } else if (what == "event") {
    about = counted(number_of(call, "events"), "event");
    colour = kDim;
  } else if (what == "cancel") {
    about = "its server is told";
    colour = kYellow;
  } else if (what == "end") {
    colour = went_well(call) ? kGreen : kRed;
    about = fmt::format("{} after {}", text_of(call, "reason"), exact_time(number_of(call, "age_ms")));
    if (has(call, "code")) about += fmt::format(", error {}", number_of(call, "code"));
    about += fmt::format(", {} bytes", number_of(call, "bytes_out"));
    if (!text_of(call, "text").empty()) about += "  " + text_of(call, "text");
  } else if (what == "settled") {
    const nlohmann::json& cancel = member_of(call, "cancel");
    about = fmt::format("its cancel: {} after {}", text_of(cancel, "outcome"),
                        exact_time(number_of(cancel, "after_ms")));
  }
  std::string rest =
      fmt::format("{:<6} {}  {}", text_of(call, "id"), upstream_text(call), text_of(call, "method"));
  if (!target.empty()) rest += " " + target;
  return line(time, what, colour, about.empty() ? rest : rest + "  " + about);
}

std::string TailLines::of_server(const nlohmann::json& server, const std::string& time) {
  const std::string name = text_of(server, "name"), why = text_of(server, "why");
  const std::string state = text_of(server, "state") + (why.empty() ? "" : "  " + why);
  if (states_.size() >= kMaxStates) states_.clear();
  auto [shown, is_new] = states_.try_emplace(name, state);
  if (!is_new && shown->second == state) return {};
  shown->second = state;
  const std::string now = text_of(server, "state");
  const char* colour = is_bad_state(now) ? kRed : now == "ready" || now == "idle" ? kGreen : kYellow;
  return line(time, "server", colour, fmt::format("{}  {}", name, state));
}

std::string TailLines::of_log(const StreamEvent& event, const std::string& time) const {
  const nlohmann::json& said = event.data;
  const std::string name = text_of(said, "event");
  std::string what = last_word(event.type), rest = text_of(said, "upstream");
  auto add = [&rest](const std::string& text) {
    if (!text.empty()) rest += (rest.empty() ? "" : "  ") + text;
  };
  if (event.type == "log" || !starts(event.type, "server.")) {
    what = event.type == "log" ? text_of(said, "level") : event.type.substr(0, event.type.find('.'));
    add(name);
  }
  if (has(said, "pid")) add(fmt::format("pid {}", number_of(said, "pid")));
  add(text_of(said, "line"));
  add(other_fields(said));
  const std::string level = text_of(said, "level");
  return line(time, what.empty() ? "event" : what,
              level == "error"  ? kRed
              : level == "warn" ? kYellow
                                : nullptr,
              rest);
}

std::string TailLines::line(const std::string& time, std::string_view what, const char* colour,
                            const std::string& rest) const {
  const std::string word = padded(what, 8);
  return fmt::format("{}  {}  {}\n", paint(time, kDim, style_.colour),
                     colour == nullptr ? word : paint(word, colour, style_.colour), rest);
}

}  // namespace lineward::cli

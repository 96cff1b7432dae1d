#include "operate/cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "operate/cli/cells.h"
#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"
#include "operate/cli/tail_text.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr const char* kBold = "1";
constexpr const char* kFaint = "2";
constexpr const char* kInverse = "7";

constexpr const char* kKeys[] = {
    "j k, arrows, PgUp PgDn, g G   choose a call",
    "Enter                         all that is known of it",
    "c                             cancel it; asks first",
    "/                             only calls with this text; Esc: all",
    "s                             sort by age, time left, server, target, state",
    "l                             the log, or not",
    "Ctrl-Z                        stop for a while (fg goes on)",
    "q, Ctrl-C                     end",
};

// Joins as many whole parts as fit, with two blanks.
std::string fitting(const std::vector<std::string>& parts, size_t columns) {
  std::string out;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::string longer = out.empty() ? part : out + "  " + part;
    if (width_of(longer) > columns && !out.empty()) break;
    out = longer;
  }
  return cut(out, std::max<size_t>(columns, 1));
}

std::string head_line(const TopModel& model, size_t columns) {
  const json& status = model.status();
  return fitting(
      {"lineward " + text_of(status, "version"), is_true(status, "draining") ? "draining" : "serving",
       "up " + short_time(number_of(status, "uptime_ms")), fmt::format("pid {}", number_of(status, "pid")),
       text_of(status, "url")},
      columns);
}

std::string count_line(const TopModel& model, size_t columns) {
  const json& status = model.status();
  double rate = 0;
  for (const json& one : model.servers())
    rate += std::max(0.0, model.rate(text_of(one, "name")));
  return fitting(
      {counted(number_of(status, "in_flight"), "call"),
       fmt::format("{} waiting", number_of(status, "waiting")), fmt::format("{:.0f}/s", rate),
       counted(number_of(status, "listens"), "listen"), counted(number_of(status, "sessions"), "session"),
       counted(number_of(status, "connections"), "connection")},
      columns);
}

std::string server_line(const TopModel& model, const json& server, size_t room, size_t columns, bool colour) {
  const std::string name = text_of(server, "name"), state = text_of(server, "state");
  std::string before = "  " + fitted(name, room) + " ";
  std::string after = fmt::format(
      " {:>7}", fmt::format("{}/{}", number_of(server, "in_flight"), number_of(server, "max_in_flight")));
  if (number_of(server, "waiting") > 0) after += fmt::format("  {} waiting", number_of(server, "waiting"));
  if (const double rate = model.rate(name); columns >= 60)
    after += rate < 0 ? "        " : fmt::format(" {:>5.0f}/s", rate);
  if (columns >= 80) {
    const int64_t timeouts = number_of(member_of(server, "counts"), "timeouts");
    if (timeouts > 0) after += "  " + counted(timeouts, "timeout");
    const std::string why = text_of(server, "why");
    if (!why.empty()) after += "  " + why;
  }
  const std::string word = fitted(state, 9);
  const size_t used = width_of(before) + 9;
  if (used >= columns) return cut(before + word, columns);
  return before + paint(word, state_colour(state), colour) + cut(after, columns - used);
}

std::string what_of(const json& call) {
  const std::string target = target_text(call), method = text_of(call, "method");
  return target.empty() ? method : method == "tools/call" ? target : target + " " + method;
}

std::vector<std::string> call_cells(const json& call) {
  const std::string who = client_text(call);
  return {text_of(call, "id"),
          short_time(number_of(call, "age_ms")),
          has(call, "left_ms") ? short_time(number_of(call, "left_ms")) : "-",
          what_of(call),
          upstream_text(call),
          who.empty() ? "-" : who,
          state_text(call)};
}

// The widths of the calls' columns: the target is the last to be cut. States, which change most, get the
// rest.
std::vector<size_t> call_widths(const TopModel& model, size_t columns) {
  enum Column : size_t { id, age, left, what, server, client, state };
  constexpr size_t kMark = 2, kGap = 1;
  std::vector<size_t> widths{4, 5, 5, 8, 8, 8, 8};
  for (const json* call : model.calls()) {
    const std::vector<std::string> cells = call_cells(*call);
    for (const size_t column : {id, what, server, client, state})
      widths[column] = std::max(widths[column], width_of(cells[column]));
  }
  const size_t room = columns > kMark ? columns - kMark : 0;
  widths = widths_within(std::move(widths),
                         {{client, 16},
                          {state, 20},
                          {client, 0},
                          {state, 8},
                          {left, 0},
                          {state, 0},
                          {server, 8},
                          {age, 0},
                          {server, 0},
                          {what, 1}},
                         kGap, room);
  size_t used = kMark;
  for (const size_t width : widths)
    used += width > 0 ? width + kGap : 0;
  if (widths[state] > 0 && used < columns + kGap) widths[state] += columns + kGap - used;
  return widths;
}

std::string call_row(const std::vector<size_t>& widths, size_t most, const std::string& mark,
                     const std::vector<std::string>& cells) {
  std::string out = mark;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] > 0) out += " " + fitted(cells[i], widths[i]);
  }
  return cut(out, most);
}

std::string call_line(const json& call, const std::vector<size_t>& widths, size_t most, bool chosen,
                      bool colour) {
  const std::string line = call_row(widths, most, chosen ? ">" : " ", call_cells(call));
  if (chosen) return paint(line, kInverse, colour);
  const std::string state = text_of(call, "state");
  if (has(call, "left_ms") && number_of(call, "left_ms") < 5000) return paint(line, "31", colour);
  return state == "queued" || state == "input" ? paint(line, "33", colour) : line;
}

std::string bottom_line(const TopModel& model, size_t columns, bool colour) {
  if (model.prompt() == TopModel::Prompt::filter)
    return cut(fmt::format("/{}_  Enter: keep  Esc: as before", model.filter()), columns);
  if (model.prompt() == TopModel::Prompt::cancel) {
    std::string about;
    for (const json* call : model.calls()) {
      if (text_of(*call, "id") == model.asked_call())
        about = fmt::format("  {} on {}", what_of(*call), upstream_text(*call));
    }
    return paint(cut(fmt::format("cancel {}? y/n{}", model.asked_call(), about), columns), kBold, colour);
  }
  if (!model.message().empty()) return paint(cut(model.message(), columns), kBold, colour);
  const size_t number = model.calls().empty() ? 0 : model.chosen() + 1;
  std::string count = fmt::format("{}/{}", number, model.calls().size());
  if (model.total() > model.calls().size()) count += fmt::format(" of {}", model.total());
  return paint(fitting({count, model.filter().empty() ? "" : "/" + model.filter(),
                        fmt::format("s sort: {}", order_name(model.order())), "c cancel", "/ filter", "l log",
                        "? keys", "q quit"},
                       columns),
               kFaint, colour);
}

// Adds text of several lines, such as a call's timeline, cut to the available space.
void add_text(std::vector<std::string>& lines, const std::string& text, const TopSize& size) {
  for (size_t at = 0; at < text.size() && lines.size() + 1 < size.rows;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(cut(std::string_view(text).substr(at, end - at), size.columns));
    at = end + 1;
  }
}

void add_servers(std::vector<std::string>& lines, const TopModel& model, size_t rows, const TopSize& size,
                 bool colour) {
  const json& servers = model.servers();
  const size_t shown = servers.size() > rows && rows > 0 ? rows - 1 : std::min(servers.size(), rows);
  // Names are whole as long as a state stands beside them.
  size_t longest = 12;
  for (const json& server : servers)
    longest = std::max(longest, width_of(text_of(server, "name")));
  const size_t room = std::min(longest, size.columns > 24 ? size.columns - 12 : 12);
  for (size_t i = 0; i < shown; ++i)
    lines.push_back(server_line(model, servers[i], room, size.columns, colour));
  if (shown < rows)
    lines.push_back(
        paint(cut(fmt::format("  and {} more (lineward servers)", servers.size() - shown), size.columns),
              kFaint, colour));
}

void add_calls(std::vector<std::string>& lines, const TopModel& model, size_t rows, const TopSize& size,
               bool colour) {
  const std::vector<size_t> widths = call_widths(model, size.columns);
  const std::string head =
      call_row(widths, size.columns, " ", {"CALL", "AGE", "LEFT", "TARGET", "SERVER", "CLIENT", "STATE"});
  lines.push_back(paint(head, kBold, colour));
  const auto& calls = model.calls();
  const size_t first = model.chosen() < rows ? 0 : model.chosen() + 1 - rows;
  for (size_t i = 0; i < rows; ++i) {
    const size_t index = first + i;
    if (index < calls.size()) {
      lines.push_back(call_line(*calls[index], widths, size.columns, index == model.chosen(), colour));
    } else if (i == 0) {
      lines.push_back(
          cut(model.filter().empty() ? "  no calls in flight" : "  no call has this text; Esc: all",
              size.columns));
    } else {
      lines.emplace_back();
    }
  }
}

void add_log(std::vector<std::string>& lines, const TopModel& model, size_t rows, const TopSize& size,
             bool colour) {
  if (rows == 0) return;
  lines.push_back(paint(cut("LOG", size.columns), kBold, colour));
  const json& log = model.log();
  const size_t room = rows - 1, all = log.is_array() ? log.size() : 0;
  TailLines text({}, {}, false, false);
  for (size_t i = all > room ? all - room : 0; i < all; ++i) {
    const json& said = member_of(log[i], "line");
    const std::string time = text_of(said, "time");
    std::string line = text.text({"log", {}, said}, time.size() > 19 ? time.substr(11, 8) : time);
    while (!line.empty() && line.back() == '\n')
      line.pop_back();
    line = cut(line, size.columns);
    const std::string level = text_of(said, "level");
    lines.push_back(level == "error"  ? paint(line, "31", colour)
                    : level == "warn" ? paint(line, "33", colour)
                                      : line);
  }
  for (size_t i = all; i < room; ++i)
    lines.emplace_back();
}

}  // namespace

TopLayout top_layout(const TopModel& model, const TopSize& size) {
  constexpr size_t kOthers = 4;  // two lines at the top, the header of the calls, the line at the bottom
  TopLayout out;
  if (size.rows <= kOthers) return out;
  size_t rest = size.rows - kOthers;
  if (rest >= 6) out.servers = std::min(model.servers().size(), rest / 3);
  rest -= out.servers;
  if (model.has_log() && rest >= 6) out.log = rest / 2;
  out.calls = rest - out.log;
  return out;
}

std::vector<std::string> top_screen(const TopModel& model, const TopSize& size, bool colour) {
  const TopLayout layout = top_layout(model, size);
  std::vector<std::string> lines;
  lines.push_back(paint(head_line(model, size.columns), kBold, colour));
  lines.push_back(model.trouble().empty() ? count_line(model, size.columns)
                                          : paint(cut("! " + model.trouble(), size.columns), "31", colour));
  if (model.has_help()) {
    for (const char* key : kKeys)
      lines.push_back(cut("  " + std::string(key), size.columns));
  } else if (!model.story().empty()) {
    lines.emplace_back();
    add_text(lines, model.story(), size);
  } else {
    add_servers(lines, model, layout.servers, size, colour);
    add_calls(lines, model, layout.calls, size, colour);
    add_log(lines, model, layout.log, size, colour);
  }
  const size_t room = size.rows > 0 ? size.rows - 1 : 0;
  lines.resize(room);
  const bool other = model.has_help() || !model.story().empty();
  lines.push_back(other && model.message().empty() ? paint(cut("any key: back", size.columns), kFaint, colour)
                                                   : bottom_line(model, size.columns, colour));
  return lines;
}

}  // namespace lineward::cli

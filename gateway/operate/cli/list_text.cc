#include "operate/cli/list_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

std::string or_dash(std::string text) {
  return text.empty() ? "-" : text;
}

std::string breaker_text(const json& server) {
  const json& breaker = member_of(server, "breaker");
  const std::string state = text_of(breaker, "state");
  if (state == "open" && has(breaker, "left_ms")) return "open, " + short_time(number_of(breaker, "left_ms"));
  return or_dash(state);
}

std::string memory_text(const json& server) {
  double bytes = 0;
  for (const json& process : member_of(server, "processes"))
    bytes += static_cast<double>(number_of(process, "resident_bytes"));
  return bytes > 0 ? short_bytes(bytes) : "-";
}

// "pid 4711 38 MiB", or "3 processes 120 MiB".
std::string processes_text(const json& session) {
  const json& processes = member_of(session, "processes");
  if (!processes.is_array() || processes.empty()) return "-";
  const std::string memory = memory_text(session);
  std::string out = processes.size() == 1 ? fmt::format("pid {}", number_of(processes.front(), "pid"))
                                          : fmt::format("{} processes", processes.size());
  return memory == "-" ? out : out + " " + memory;
}

// The GET stream; without one, since when its client is gone.
std::string presence_text(const json& session) {
  if (is_true(session, "stream")) return "open";
  if (has(session, "abandoned_ms")) return "gone " + short_time(number_of(session, "abandoned_ms"));
  return is_true(session, "had_stream") ? "closed" : "-";
}

// A child of the tree; `above` has the lines of its ancestors.
std::string branch(const std::string& above, bool last, const std::string& text) {
  return above + (last ? "└─ " : "├─ ") + text + "\n";
}

std::vector<std::string> wishes_of(const json& listen) {
  std::vector<std::string> out;
  const json& filter = member_of(listen, "filter");
  for (const char* list : {"tools", "prompts", "resources"}) {
    if (is_true(filter, list)) out.push_back(fmt::format("the list of {}", list));
  }
  size_t shown = 0;
  for (const json& uri : member_of(filter, "uris")) {
    if (!uri.is_string()) continue;
    out.push_back(uri.get<std::string>());
    ++shown;
  }
  const auto all = static_cast<size_t>(std::max<int64_t>(0, number_of(filter, "uri_count")));
  if (all > shown)
    out.push_back(fmt::format("and {} more", counted(static_cast<int64_t>(all - shown), "URI")));
  if (out.empty()) out.emplace_back("nothing");
  return out;
}

std::string listener_text(const json& listen) {
  const std::string who = client_text(listen), peer = text_of(listen, "peer");
  std::string out = fmt::format("{}  {}", text_of(listen, "id"), who.empty() ? "unknown client" : who);
  if (!peer.empty()) out += fmt::format(" ({})", peer);
  out += fmt::format("  id {}  since {}  {}", or_dash(text_of(listen, "rpc_id")),
                     short_time(number_of(listen, "age_ms")), counted(number_of(listen, "events"), "event"));
  const std::string state = text_of(listen, "state");
  if (!state.empty() && state != "listening") out += "  " + state;
  return out;
}

}  // namespace

std::string short_bytes(double bytes) {
  constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit)
    bytes /= 1024;
  return bytes < 10 ? fmt::format("{:.1f} {}", bytes, kUnits[unit])
                    : fmt::format("{:.0f} {}", bytes, kUnits[unit]);
}

std::string servers_table(const json& servers, const Style& style) {
  std::vector<Row> rows{{"SERVER", "STATE", "KIND", "ERA", "CALLS", "WAITING", "LISTENS", "SESSIONS",
                         "PROCESSES", "MEMORY", "BREAKER", "ENDED", "TIMEOUTS", "SAYS"}};
  for (const json& one : servers) {
    const json& counts = member_of(one, "counts");
    const std::string why = text_of(one, "why");
    rows.push_back(
        {text_of(one, "name"), or_dash(text_of(one, "state")), or_dash(text_of(one, "kind")),
         or_dash(text_of(one, "era")),
         fmt::format("{}/{}", number_of(one, "in_flight"), number_of(one, "max_in_flight")),
         fmt::format("{}", number_of(one, "waiting")), fmt::format("{}", number_of(one, "listens")),
         fmt::format("{}", number_of(one, "sessions")),
         text_of(one, "kind") == "stdio" ? fmt::format("{}", member_of(one, "processes").size()) : "-",
         memory_text(one), breaker_text(one), fmt::format("{}", number_of(counts, "calls")),
         fmt::format("{}", number_of(counts, "timeouts")), why.empty() ? text_of(one, "server") : why});
  }
  return table(rows, style);
}

std::string server_text(const json& server, const Style& style) {
  const std::string state = text_of(server, "state");
  std::string out = paint(text_of(server, "name"), "1", style.colour) + "  " +
                    paint(or_dash(state), state_colour(state), style.colour);
  if (!text_of(server, "why").empty()) out += "  " + text_of(server, "why");
  out += "\n";
  std::string versions;
  for (const json& one : member_of(server, "versions")) {
    if (one.is_string()) versions += (versions.empty() ? "" : ", ") + one.get<std::string>();
  }
  std::string kind = text_of(server, "kind") + "  " + text_of(server, "era");
  out += detail_line("kind", kind + (versions.empty() ? "" : "  " + versions));
  out += detail_line("says", text_of(server, "server"));
  out += detail_line(
      "now", fmt::format("{}/{} calls, {} of {} waiting, {}, {}", number_of(server, "in_flight"),
                         number_of(server, "max_in_flight"), number_of(server, "waiting"),
                         number_of(server, "max_queue"), counted(number_of(server, "listens"), "listen"),
                         counted(number_of(server, "sessions"), "session")));
  out += detail_line("breaker", breaker_text(server));
  if (const json& counts = member_of(server, "counts"); counts.is_object()) {
    out +=
        detail_line("ended", fmt::format("{}: {} ok, {} timed out, {} cancelled",
                                         counted(number_of(counts, "calls"), "call"), number_of(counts, "ok"),
                                         number_of(counts, "timeouts"), number_of(counts, "cancelled")));
    out += detail_line("starts", fmt::format("{}, {} failed, {}", number_of(counts, "starts"),
                                             number_of(counts, "starts_failed"),
                                             counted(number_of(counts, "exits"), "exit")));
  }
  for (const json& one : member_of(server, "origins")) {
    std::string origin = fmt::format("{}  {}", text_of(one, "name"), text_of(one, "state"));
    if (has(one, "left_ms")) origin += fmt::format(" for {}", short_time(number_of(one, "left_ms")));
    origin +=
        fmt::format("  {}, {}; {}, {} failed, {}", counted(number_of(one, "in_flight"), "call"),
                    counted(number_of(one, "sessions"), "session"), counted(number_of(one, "calls"), "call"),
                    number_of(one, "failures"), counted(number_of(one, "ejections"), "ejection"));
    out += detail_line("origin", origin);
  }
  for (const json& one : member_of(server, "processes")) {
    std::string process = fmt::format("pid {}", number_of(one, "pid"));
    if (has(one, "resident_bytes"))
      process += "  " + short_bytes(static_cast<double>(number_of(one, "resident_bytes")));
    if (const json& cpu = member_of(one, "cpu_seconds"); cpu.is_number())
      process += fmt::format("  {:.1f}s CPU", cpu.get<double>());
    if (has(one, "open_fds")) process += "  " + counted(number_of(one, "open_fds"), "descriptor");
    out += detail_line("process", process);
  }
  for (const json& said : member_of(server, "stderr")) {
    const std::string line =
        fmt::format("  {:<9} {}  {}", "stderr", text_of(said, "time"), text_of(said, "line"));
    out += (!style.wide && style.width > 20 ? cut(line, style.width) : line) + "\n";
  }
  return out;
}

ServerWork work_of(const json& server) {
  return {number_of(server, "in_flight") + number_of(server, "waiting"), number_of(server, "listens"),
          number_of(server, "sessions")};
}

std::string work_text(const ServerWork& work) {
  std::vector<std::string> parts;
  if (work.calls > 0) parts.push_back(counted(work.calls, "call"));
  if (work.listens > 0) parts.push_back(counted(work.listens, "listen"));
  if (work.sessions > 0) parts.push_back(counted(work.sessions, "session"));
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

bool ends_work(std::string_view action, bool force) {
  return action == "stop" || (action == "restart" && force);
}

std::string action_effect(std::string_view action, bool force, const ServerWork& work) {
  if (!work.any()) return "nothing of it is in use";
  if (ends_work(action, force)) return "ends at once: " + work_text(work);
  const std::string go_on = work_text({work.calls, work.listens, 0});
  const std::string then = work_text({0, 0, work.sessions});
  if (then.empty()) return go_on + " may go on";
  return (go_on.empty() ? "" : go_on + " may go on; ") + "ends with it: " + then;
}

std::string action_done(std::string_view action, const std::string& name, bool force,
                        const ServerWork& work) {
  if (action == "start") return name + " is back in service\n";
  const std::string_view did = action == "stop"      ? "is out of service"
                               : action == "restart" ? "has been restarted"
                                                     : "takes no new calls";
  return fmt::format("{} {}; {}\n", name, did, action_effect(action, force, work));
}

std::string sessions_table(const json& sessions, const Style& style) {
  std::vector<Row> rows{{"SESSION", "UPSTREAM", "CLIENT", "REVISION", "AGE", "IDLE", "CALLS", "CONNECTIONS",
                         "STREAM", "PROCESS"}};
  for (const json& one : sessions) {
    rows.push_back({text_of(one, "session"), text_of(one, "upstream"), or_dash(client_text(one)),
                    or_dash(text_of(one, "revision")), short_time(number_of(one, "age_ms")),
                    short_time(number_of(one, "idle_ms")), fmt::format("{}", number_of(one, "calls")),
                    fmt::format("{}", number_of(one, "connections")), presence_text(one),
                    processes_text(one)});
  }
  return table(rows, style, {{2, 16}, {0, 12}, {2, 0}, {1, 8}});
}

std::string listens_tree(const json& listens, const Style& style) {
  std::map<std::string, std::vector<const json*>> by_server;
  for (const json& one : listens)
    by_server[upstream_text(one)].push_back(&one);
  std::string out;
  auto add = [&](const std::string& line) {
    if (style.wide || style.width <= 20) {
      out += line;
    } else {
      out += cut(std::string_view(line).substr(0, line.size() - 1), style.width) + "\n";
    }
  };
  for (const auto& [server, its] : by_server) {
    out += paint(server.empty() ? "-" : server, "1", style.colour) + "\n";
    for (size_t i = 0; i < its.size(); ++i) {
      const bool last = i + 1 == its.size();
      add(branch("", last, listener_text(*its[i])));
      const std::vector<std::string> wishes = wishes_of(*its[i]);
      for (size_t k = 0; k < wishes.size(); ++k)
        add(branch(last ? "   " : "│  ", k + 1 == wishes.size(), wishes[k]));
    }
  }
  return out;
}

}  // namespace lineward::cli

#include "operate/cli/control_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "operate/cli/json_fields.h"
#include "operate/cli/list_text.h"
#include "operate/cli/local_address.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

std::string cancel_text(const json& cancel, int64_t grace_ms, const std::string& upstream) {
  if (!cancel.is_object()) return upstream + " has not settled it yet";
  std::string told = text_of(cancel, "told");
  std::string outcome = text_of(cancel, "outcome");
  std::string after = exact_time(number_of(cancel, "after_ms"));
  if (told == "not_sent") return upstream + " had not been sent it";
  if (told == "others_wait") return upstream + " was not told: others wait for the same answer";
  if (told == "servers_behind") return fmt::format("the servers behind {} were told", upstream);
  if (told == "stream_closed") return upstream + " was told (its stream was closed)";
  if (told == "process_ended") return upstream + "'s process ended";
  std::string how = told == "nothing" ? fmt::format("{} was not told (cancel: never)", upstream)
                                      : fmt::format("{} was told ({})", upstream, told);
  if (outcome == "stopped") return fmt::format("{} and stopped in {}", how, after);
  if (outcome == "raced") return fmt::format("{} but finished all the same, {} later", how, after);
  std::string grace = grace_ms > 0 ? fmt::format(" ({})", short_time(grace_ms)) : "";
  return fmt::format(
      "{} and said nothing more within cancelGrace{}: it stopped without a word, or did not stop", how,
      grace);
}

}  // namespace

std::string progress_text(const json& call) {
  auto found = call.find("progress");
  if (found == call.end() || !found->is_object()) return {};
  std::string out;
  if (has(*found, "progress")) out = (*found)["progress"].dump();
  if (has(*found, "total")) out += "/" + (*found)["total"].dump();
  std::string message = text_of(*found, "message");
  if (!message.empty()) out += (out.empty() ? "" : " ") + fmt::format("\"{}\"", message);
  return out;
}

// Its authenticated principal, and its own name.
std::string client_text(const json& call) {
  std::string who = text_of(call, "principal"), client = text_of(call, "client");
  return who.empty() || client.empty() ? who + client : who + ", " + client;
}

std::string state_text(const json& call) {
  std::string state = text_of(call, "state");
  if (state == "ended")
    return fmt::format("ended {} ago: {}", short_time(number_of(call, "ended_ago_ms")),
                       text_of(call, "reason"));
  std::string progress = progress_text(call);
  if (state == "running" && !progress.empty()) return "running " + progress;
  if (state == "queued") return fmt::format("queued, {} ahead", number_of(call, "ahead"));
  if (state == "listening") return fmt::format("listening, {} events", number_of(call, "events"));
  if (state == "input") return "waits for its client's answer";
  return state;
}

std::string target_text(const json& call) {
  std::string listens = text_of(call, "listens");
  return listens.empty() ? text_of(call, "target") : listens;
}

// The server, and the aggregate's path if the call came by it.
std::string upstream_text(const json& call) {
  std::string route = text_of(call, "route");
  return text_of(call, "upstream") + (route.empty() ? "" : " via " + route);
}

std::string reload_text(const json& report) {
  constexpr size_t kMaxColumn = 48;
  json none = json::array();
  auto found = report.find("changes");
  const json& rows = found != report.end() && found->is_array() ? *found : none;
  size_t names = 0, whats = 0;
  for (const json& row : rows) {
    names = std::max(names, width_of(text_of(row, "name")));
    whats = std::max(whats, std::min(width_of(text_of(row, "what")), kMaxColumn));
  }
  std::string out;
  for (const json& row : rows) {
    std::string line =
        fmt::format("  {} {}   {}   {}", text_of(row, "mark"), padded(text_of(row, "name"), names),
                    padded(text_of(row, "what"), whats), text_of(row, "effect"));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (number_of(report, "unchanged") > 0)
    out += fmt::format("  = {} unchanged\n", number_of(report, "unchanged"));
  auto dry = report.find("dryRun");
  if (dry != report.end() && dry->is_boolean() && dry->get<bool>())
    return out + "nothing was changed (--dry-run)\n";
  int64_t calls = number_of(report, "in_flight");
  return out + fmt::format("reloaded in {}ms; {} call{} in flight untouched\n", number_of(report, "took_ms"),
                           calls, calls == 1 ? "" : "s");
}

std::string short_time(int64_t ms) {
  int64_t seconds = ms / 1000;
  if (ms < 10000) return fmt::format("{}.{}s", seconds, ms % 1000 / 100);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{}d{:02}h", seconds / 86400, seconds % 86400 / 3600);
}

std::string exact_time(int64_t ms) {
  return ms < 1000 ? fmt::format("{}ms", ms) : short_time(ms);
}

std::string counted(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

const char* state_colour(const std::string& state) {
  if (state == "ready" || state == "idle") return "32";
  return state == "failed" || state == "backoff" || state == "open" ? "31" : "33";
}

std::string detail_line(std::string_view key, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("  {:<9} {}\n", key, value);
}

std::string calls_table(const json& calls, const Style& style) {
  enum Column : size_t { id, age, left, target, upstream, method, client, state };
  // A target is the last to be cut: without it a call is nothing that a reader knows.
  const std::vector<Shrink> steps{{client, 16}, {method, 0}, {state, 20},   {client, 0}, {state, 8},
                                  {left, 0},    {state, 0},  {upstream, 8}, {target, 12}};
  std::vector<Row> rows{{"CALL", "AGE", "LEFT", "TARGET", "UPSTREAM", "METHOD", "CLIENT", "STATE"}};
  for (const json& call : calls) {
    std::string who = client_text(call);
    if (style.wide) who += (who.empty() ? "" : " ") + text_of(call, "peer");
    rows.push_back({text_of(call, "id"), short_time(number_of(call, "age_ms")),
                    has(call, "left_ms") ? short_time(number_of(call, "left_ms")) : "-", target_text(call),
                    upstream_text(call), text_of(call, "method"), who.empty() ? "-" : who, state_text(call)});
  }
  // Without room for methods, a call without a target shows its method there.
  const size_t room = room_of(style);
  if (room > 0 && widths_within(natural_widths(rows), steps, 2, room)[method] == 0) {
    for (Row& row : rows) {
      if (row[target].empty()) row[target] = row[method];
    }
  }
  return table(rows, style, steps);
}

std::string call_text(const json& call, const Style& style) {
  std::string id = text_of(call, "id");
  std::string target = target_text(call);
  std::string out =
      paint(id, "1", style.colour) + fmt::format("  {}{}{} on {}\n", text_of(call, "method"),
                                                 target.empty() ? "" : " ", target, upstream_text(call));
  std::string who = client_text(call);
  who += (who.empty() ? "" : "  ") + text_of(call, "peer") + "  " + text_of(call, "era");
  if (!text_of(call, "revision").empty()) who += " " + text_of(call, "revision");
  bool ended = text_of(call, "state") == "ended";
  int64_t ago = number_of(call, "age_ms") + number_of(call, "ended_ago_ms");
  out += detail_line("client", who);
  out +=
      detail_line("received", fmt::format("{} ago, {} bytes", short_time(ago), number_of(call, "bytes_in")));
  out += detail_line(
      "queued", number_of(call, "queued_ms") > 0 ? "for " + short_time(number_of(call, "queued_ms")) : "");
  out +=
      detail_line("sent", has(call, "sent_after_ms")
                              ? fmt::format("{} after it came", short_time(number_of(call, "sent_after_ms")))
                              : std::string(ended ? "never" : "not yet"));
  std::string progress = progress_text(call);
  if (!progress.empty() && has(call["progress"], "ago_ms"))
    progress += fmt::format(", {} ago", short_time(number_of(call["progress"], "ago_ms")));
  out += detail_line("progress", progress);
  if (number_of(call, "events") > 0) out += detail_line("events", std::to_string(number_of(call, "events")));
  if (has(call, "questions"))
    out += detail_line("asks",
                       fmt::format("{} of the server's questions are open", number_of(call, "questions")));
  if (has(call, "left_ms"))
    out += detail_line(
        "limit", fmt::format("{} left ({})", short_time(number_of(call, "left_ms")), text_of(call, "limit")));
  if (!ended) return out + detail_line("state", state_text(call));
  std::string code = has(call, "code") ? fmt::format(", error {}", number_of(call, "code")) : "";
  out += detail_line(
      "ended", fmt::format("{} ago: {} after {}{}, {} bytes", short_time(number_of(call, "ended_ago_ms")),
                           text_of(call, "reason"), short_time(number_of(call, "age_ms")), code,
                           number_of(call, "bytes_out")));
  out += detail_line("why", text_of(call, "text"));
  if (call.contains("cancel"))
    out += detail_line("cancel", cancel_text(call["cancel"], 0, text_of(call, "upstream")));
  return out;
}

std::string timeline_text(const json& call) {
  std::string out;
  for (const json& mark : member_of(call, "timeline")) {
    const int64_t times = number_of(mark, "times", 1);
    std::string when = "+" + exact_time(number_of(mark, "at_ms"));
    if (has(mark, "last_ms")) when += " to +" + exact_time(number_of(mark, "last_ms"));
    out += detail_line(out.empty() ? "timeline" : "",
                       fmt::format("{:<14} {}{}", text_of(mark, "step"), when,
                                   times > 1 ? fmt::format(", {} times", times) : ""));
  }
  return out;
}

std::string cancel_line(const json& ended, int64_t grace_ms) {
  std::string client = has(ended, "code") ? fmt::format("client got error {}", number_of(ended, "code"))
                                          : "the client was told";
  json cancel = ended.contains("cancel") ? ended["cancel"] : json(nullptr);
  return fmt::format("{} cancelled after {}: {}; {}\n", text_of(ended, "id"),
                     short_time(number_of(ended, "age_ms")), client,
                     cancel_text(cancel, grace_ms, text_of(ended, "upstream")));
}

std::string end_line(const json& ended) {
  return fmt::format("it ended {} ago: {} after {}", short_time(number_of(ended, "ended_ago_ms")),
                     text_of(ended, "reason"), short_time(number_of(ended, "age_ms")));
}

// Red when it has expired, yellow in its last 14 days.
std::string certificate_line(const json& certificate, const Style& style) {
  constexpr int64_t kDay = 86400, kSoon = 14;
  const int64_t left = number_of(certificate, "expires") - static_cast<int64_t>(std::time(nullptr));
  std::string when = left <= 0 ? "expired" : fmt::format("expires in {} days", left / kDay);
  if (left < kSoon * kDay) when = paint(when, left <= 0 ? "31" : "33", style.colour);
  std::string names;
  size_t shown = 0;
  for (const json& name : member_of(certificate, "names")) {
    if (++shown > 4) break;
    if (name.is_string()) names += (names.empty() ? "" : ", ") + name.get<std::string>();
  }
  const std::string listener = text_of(certificate, "listener");
  return fmt::format("  TLS      {}{}  {}{}\n", names, shown > 4 ? " …" : "", when,
                     listener.empty() || listener == "listen" ? "" : "  listener " + listener);
}

// The memory of Lineward itself, and of all processes that it started.
std::string memory_line(const json& status) {
  if (!has(status, "resident_bytes")) return {};
  std::string out = "  memory   " + short_bytes(static_cast<double>(number_of(status, "resident_bytes")));
  const int64_t processes = number_of(status, "processes");
  if (processes == 0 || !has(status, "processes_resident_bytes")) return out + "\n";
  const double bytes = static_cast<double>(number_of(status, "processes_resident_bytes"));
  return out + fmt::format("; {} server process{}: {}\n", processes, processes == 1 ? "" : "es",
                           short_bytes(bytes));
}

// The clients of a gateway that `lineward stdio --share` has started.
std::string shared_line(const json& status) {
  constexpr size_t kShown = 16;
  if (!has(status, "shared_by")) return {};
  const json& clients = member_of(status, "shared_by");
  std::string out = "  shared   by " + counted(static_cast<int64_t>(clients.size()), "client");
  for (size_t i = 0; i < std::min(clients.size(), kShown); ++i)
    out += (i == 0 ? ": pid " : " ") + clients[i].dump();
  return out + (clients.size() > kShown ? " …\n" : "\n");
}

std::string status_screen(const json& status, const Style& style) {
  const bool draining = is_true(status, "draining");
  const json& upstreams = member_of(status, "upstreams");
  std::string out = paint(fmt::format("lineward {}", text_of(status, "version")), "1", style.colour) +
                    fmt::format("  {}  up {}  pid {}  config: {}\n", draining ? "draining" : "serving",
                                short_time(number_of(status, "uptime_ms")), number_of(status, "pid"),
                                text_of(status, "config"));
  const std::string url = text_of(status, "url");
  out += fmt::format("  MCP      {}\n", url.rfind("http", 0) == 0 ? reachable(url) : url);
  out += shared_line(status);
  for (const json& one : member_of(status, "listeners")) {
    const std::string at = text_of(one, "url");
    out += fmt::format("  MCP      {}  listener {}, {}\n", at.rfind("http", 0) == 0 ? reachable(at) : at,
                       text_of(one, "name"), counted(number_of(one, "connections"), "connection"));
  }
  for (const json& one : member_of(status, "certificates"))
    out += certificate_line(one, style);
  out += fmt::format("  Metrics  {}\n",
                     text_of(status, "ops").empty() ? "off" : text_of(status, "ops") + "/metrics");
  out += memory_line(status);
  out += fmt::format("  now      {}, {} waiting, {}, {}, {}\n\n",
                     counted(number_of(status, "in_flight"), "call"), number_of(status, "waiting"),
                     counted(number_of(status, "listens"), "listen"),
                     counted(number_of(status, "sessions"), "session"),
                     counted(number_of(status, "connections"), "connection"));
  size_t longest = 8;
  for (const json& one : upstreams)
    longest = std::max(longest, width_of(text_of(one, "name")));
  for (const json& one : upstreams) {
    std::string state = text_of(one, "state");
    std::string name = text_of(one, "name");
    out += "  " + name + std::string(longest - width_of(name) + 2, ' ') +
           paint(fmt::format("{:<9}", state), state_colour(state), style.colour);
    out += fmt::format(" {:<6} {:<7} {}/{} calls", text_of(one, "kind"), text_of(one, "era"),
                       number_of(one, "in_flight"), number_of(one, "max_in_flight"));
    if (number_of(one, "waiting") > 0) out += fmt::format(", {} waiting", number_of(one, "waiting"));
    if (number_of(one, "listens") > 0) out += ", " + counted(number_of(one, "listens"), "listen");
    std::string pids;
    for (const json& pid : member_of(one, "pids"))
      pids += " " + pid.dump();
    if (!pids.empty()) out += "  pid" + pids;
    if (has(one, "resident_bytes"))
      out += "  " + short_bytes(static_cast<double>(number_of(one, "resident_bytes")));
    if (!text_of(one, "server").empty()) out += "  " + text_of(one, "server");
    if (is_true(one, "required")) out += "  required";
    out += "\n";
    if (!text_of(one, "why").empty())
      out += fmt::format("  {}  {}\n", std::string(longest, ' '), text_of(one, "why"));
  }
  if (upstreams.empty()) out += "  no server is configured\n";
  return out;
}

}  // namespace lineward::cli

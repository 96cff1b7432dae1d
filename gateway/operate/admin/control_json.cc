#include "operate/admin/control_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "foundation/json/json_member.h"
#include "foundation/log/sanitize.h"

namespace lineward::admin {
namespace {

using exchange::CallState;
using lineward::json::for_each_member;
using lineward::json::member;
using lineward::json::string_value;
using nlohmann::json;

constexpr std::string_view state_name(CallState state) {
  switch (state) {
    case CallState::queued: return "queued";
    case CallState::starting: return "starting";
    case CallState::running: return "running";
    case CallState::listening: return "listening";
    case CallState::input: return "input";
    case CallState::ended: return "ended";
  }
  return "";
}

std::string_view told_name(metrics::CancelTold told) {
  switch (told) {
    case metrics::CancelTold::not_sent: return "not_sent";
    case metrics::CancelTold::notification: return "notifications/cancelled";
    case metrics::CancelTold::stream_closed: return "stream_closed";
    case metrics::CancelTold::nothing: return "nothing";
    case metrics::CancelTold::process_ended: return "process_ended";
    case metrics::CancelTold::others_wait: return "others_wait";
    case metrics::CancelTold::servers_behind: return "servers_behind";
  }
  return "";
}

// A number as written by the server; null if it is not one.
json number_of(std::optional<std::string_view> raw) {
  if (!raw || raw->size() > 40) return nullptr;
  json value = json::parse(*raw, nullptr, false);
  return value.is_number() ? value : json(nullptr);
}

json progress_of(const exchange::CallView& call) {
  if (call.progress.empty()) return nullptr;
  json out{{"progress", number_of(member(call.progress, "progress"))},
           {"total", number_of(member(call.progress, "total"))},
           {"message", sanitize(string_value(member(call.progress, "message")))}};
  if (call.progress_ago) out["ago_ms"] = call.progress_ago->count();
  return out;
}

// "tools, prompts, 2 uris"
std::string listens_of(const exchange::CallView& call) {
  std::string out;
  auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
  for_each_member(call.listens, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged" && value == "true") add("tools");
    if (key == "promptsListChanged" && value == "true") add("prompts");
    if (key == "resourcesListChanged" && value == "true") add("resources");
    if (key != "resourceSubscriptions") return;
    json list = json::parse(value, nullptr, false);
    if (list.is_array() && !list.empty())
      add(fmt::format("{} uri{}", list.size(), list.size() == 1 ? "" : "s"));
  });
  return out;
}

}  // namespace

std::string client_label(std::string_view implementation) {
  std::string name = string_value(member(implementation, "name"));
  std::string version = string_value(member(implementation, "version"));
  return sanitize(version.empty() ? name : name + " " + version, 60);
}

json call_json(const exchange::CallView& call) {
  json out{{"id", call.id},
           {"rpc_id", sanitize(call.rpc_id, 64)},
           {"upstream", call.upstream},
           {"route", call.route},
           {"method", sanitize(call.method, 100)},
           {"target", sanitize(call.target)},
           {"client", client_label(call.client_info)},
           {"principal", sanitize(call.caller, 80)},
           {"peer", call.peer},
           {"era", mcp::name(call.era)},
           {"revision", sanitize(call.revision, 20)},
           {"state", state_name(call.state)},
           {"age_ms", call.age.count()},
           {"queued_ms", call.queued_for.count()},
           {"progress", progress_of(call)},
           {"events", call.events},
           {"bytes_in", call.bytes_in}};
  if (call.left) out["left_ms"] = call.left->count();
  if (call.left) out["limit"] = call.limit;
  if (call.sent_after) out["sent_after_ms"] = call.sent_after->count();
  if (!call.listens.empty()) out["listens"] = listens_of(call);
  if (call.state == CallState::queued) out["ahead"] = call.ahead;
  if (call.questions > 0) out["questions"] = call.questions;
  return out;
}

json timeline_json(const exchange::CallView& call) {
  json marks = json::array();
  for (size_t i = 0; i < call.timeline.size(); ++i) {
    const auto& mark = call.timeline[i];
    if (i == exchange::CallTimeline::kFirst && call.timeline.left_out() > 0)
      marks.push_back({{"step", "left_out"}, {"at_ms", mark.at_ms}, {"times", call.timeline.left_out()}});
    json one{{"step", name(mark.step)}, {"at_ms", mark.at_ms}, {"times", mark.times}};
    if (mark.times > 1) one["last_ms"] = mark.last_ms;
    marks.push_back(std::move(one));
  }
  return marks;
}

json filter_json(std::string_view listens) {
  constexpr size_t kMaxUris = 100;
  json out{
      {"tools", false}, {"prompts", false}, {"resources", false}, {"uris", json::array()}, {"uri_count", 0}};
  for_each_member(listens, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged") out["tools"] = value == "true";
    if (key == "promptsListChanged") out["prompts"] = value == "true";
    if (key == "resourcesListChanged") out["resources"] = value == "true";
    if (key != "resourceSubscriptions") return;
    json list = json::parse(value, nullptr, false);
    if (!list.is_array()) return;
    out["uri_count"] = list.size();
    for (const json& uri : list) {
      if (uri.is_string() && out["uris"].size() < kMaxUris)
        out["uris"].push_back(sanitize(uri.get_ref<const std::string&>()));
    }
  });
  return out;
}

json ended_json(const exchange::EndedCall& call, std::chrono::milliseconds now) {
  json out = call_json(call.call);
  out["reason"] = mcp::name(call.reason);
  if (call.code != 0) out["code"] = call.code;
  if (!call.text.empty()) out["text"] = sanitize(call.text, 300);
  out["ended_ago_ms"] = (now - call.ended_at).count();
  out["bytes_out"] = call.bytes_out;
  if (!call.cancelled) return out;
  out["cancel"] = nullptr;
  if (call.cancel) {
    out["cancel"] = {{"outcome", call.cancel->has_outcome() ? metrics::label(call.cancel->outcome) : "none"},
                     {"told", told_name(call.cancel->told)},
                     {"after_ms", call.cancel->after.count()}};
  }
  return out;
}

json reload_json(const ReloadReport& report) {
  json out{{"dryRun", report.dry_run}};
  if (!report.report.empty()) out["report"] = report.report;
  if (!report.error.empty()) out["error"] = report.error;
  using Outcome = ReloadReport::Outcome;
  if (report.outcome == Outcome::rejected || report.outcome == Outcome::refused) return out;
  out["changes"] = json::array();
  for (const PlanRow& row : report.rows) {
    out["changes"].push_back({{"mark", std::string(1, row.mark)},
                              {"name", sanitize(row.name, 100)},
                              {"what", sanitize(row.what, 500)},
                              {"effect", row.effect}});
  }
  out["unchanged"] = report.unchanged;
  out["in_flight"] = report.in_flight;
  out["took_ms"] = report.took_ms;
  return out;
}

json server_json(const Sources& sources, const config::Server& server, size_t sessions) {
  auto status = sources.status(server);
  auto load = sources.host(server.name).exchanges.load(server.name, exchange::ExchangeTable::CameTo::itself);
  load.add(sources.workers.view(0).exchanges.load(server.name, exchange::ExchangeTable::CameTo::aggregate));
  json one{{"name", server.name},
           {"kind", &server == sources.aggregate() ? "together"
                    : server.url.empty()           ? "stdio"
                                                   : "http"},
           {"state", core::name(status.state)},
           {"server", sanitize(status.server, 60)},
           {"in_flight", load.in_flight},
           {"max_in_flight", server.limits.max_in_flight},
           {"waiting", load.waiting},
           {"listens", load.listening},
           {"sessions", sessions},
           {"required", server.required},
           {"cancel_grace_ms", server.timeouts.cancel_grace.count()},
           {"pids", json::array()}};
  if (!status.why.empty()) one["why"] = sanitize(status.why);
  if (status.limit.count() > 0) one["limit_ms"] = status.limit.count();
  for (const auto& process : status.processes)
    one["pids"].push_back(process.pid);
  if (const core::Upstream* upstream = sources.upstream(server.name)) {
    if (auto era = upstream->era()) one["era"] = mcp::name(*era);
  }
  return one;
}

json status_json(const Sources& sources, const OwnUrls& urls) {
  json upstreams = json::array();
  size_t listens = 0, calls = 0, waiting = 0;
  auto sessions = sources.sessions();
  size_t all_sessions = 0;
  for (const auto& [server, count] : sessions)
    all_sessions += count;
  for (const config::Server* shown : sources.servers()) {
    json one = server_json(sources, *shown, sessions[shown->name]);
    listens += one["listens"].get<size_t>();
    calls += one["in_flight"].get<size_t>();
    waiting += one["waiting"].get<size_t>();
    upstreams.push_back(std::move(one));
  }
  std::string address = sources.front().address();
  bool unix_socket = address.rfind("unix:", 0) == 0;
  return {{"version", sources.version},
          {"revision", sources.revision},
          {"pid", getpid()},
          {"config", sources.config_source},
          {"url", address == "stdio"
                      ? address
                      : (unix_socket ? address + "#" : "http://" + address) + sources.config.listen.path},
          {"ops", urls.ops},
          {"admin", urls.admin},
          {"admin_address", sources.config.admin.address},
          {"uptime_ms", (sources.loop.now() - sources.started).count()},
          {"draining", sources.draining},
          {"workers", sources.workers.workers()},
          {"connections", sources.connections()},
          {"sessions", all_sessions},
          {"listens", listens},
          {"in_flight", calls},
          {"waiting", waiting},
          {"upstreams", std::move(upstreams)}};
}

}  // namespace lineward::admin

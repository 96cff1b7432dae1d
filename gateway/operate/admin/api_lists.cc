#include "operate/admin/api_lists.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "foundation/log/sanitize.h"
#include "operate/admin/control_json.h"
#include "operate/admin/process_info.h"

namespace lineward::admin {
namespace {

using exchange::CallPage;
using exchange::CallQuery;
using exchange::CallView;
using exchange::CallViews;
using exchange::EndedCall;
using nlohmann::json;

struct Cut {
  size_t from = 0, to = 0;
  bool found = true;  // the item before the page exists
};

// The begin and end of the page in a sorted list of names.
template <class List, class Name>
Cut cut(const List& list, const PageQuery& query, Name&& name) {
  Cut out;
  if (!query.after.empty()) {
    auto found =
        std::find_if(list.begin(), list.end(), [&](const auto& one) { return name(one) == query.after; });
    out.found = found != list.end();
    out.from = out.found ? static_cast<size_t>(found - list.begin()) + 1 : list.size();
  }
  out.to = std::min(list.size(), out.from + query.limit);
  return out;
}

// Merges the pages of all workers, in order of arrival.
std::optional<CallPage> page_of(const Sources& sources, const CallQuery& query) {
  CallPage out;
  for (size_t k = 0; k < sources.workers.workers(); ++k) {
    CallPage part;
    if (!sources.workers.run(k, [&] { part = CallViews(sources.workers.view(k).exchanges).page(query); }))
      return std::nullopt;
    out.total += part.total;
    out.more = out.more || part.more;
    for (CallView& one : part.calls)
      out.calls.push_back(std::move(one));
  }
  std::sort(out.calls.begin(), out.calls.end(), [](const CallView& a, const CallView& b) {
    return exchange::call_number(a.id) < exchange::call_number(b.id);
  });
  if (out.calls.size() > query.limit) {
    out.calls.resize(query.limit);
    out.more = true;
  }
  return out;
}

// The last ended calls of all workers, newest first.
std::optional<std::vector<EndedCall>> ends(const Sources& sources) {
  std::vector<EndedCall> out;
  for (size_t k = 0; k < sources.workers.workers(); ++k) {
    bool read = sources.workers.run(k, [&] {
      for (const EndedCall* one : sources.workers.view(k).exchanges.log().all())
        out.push_back(*one);
    });
    if (!read) return std::nullopt;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const EndedCall& a, const EndedCall& b) { return a.ended_at < b.ended_at; });
  return out;
}

// Each worker remembers a limited number: a busy one may have forgotten the cursor's call while another has
// older ones. So the cursor also contains the time at which it ended. Calls that ended in the same
// millisecond may be repeated.
Cut cut_ends(const std::vector<EndedCall>& newest_first, const PageQuery& query) {
  const size_t sign = query.after.find('@');
  PageQuery by_id = query;
  by_id.after = query.after.substr(0, sign);
  Cut out = cut(newest_first, by_id, [](const EndedCall& one) { return one.call.id; });
  int64_t time = 0;
  if (out.found || sign == std::string::npos) return out;
  const char* end = query.after.data() + query.after.size();
  const auto read = std::from_chars(query.after.data() + sign + 1, end, time);
  if (read.ec != std::errc() || read.ptr != end) return out;
  out.found = true;
  const auto from = std::find_if(newest_first.begin(), newest_first.end(),
                                 [time](const EndedCall& one) { return one.ended_at.count() <= time; });
  out.from = static_cast<size_t>(from - newest_first.begin());
  out.to = std::min(newest_first.size(), out.from + query.limit);
  return out;
}

// Adds the parts from /proc and the feed, read after the pause.
json finished(json server, const EventRing& feed) {
  for (json& process : server["processes"]) {
    ProcessInfo info;
    if (!read_tree(process["pid"], info)) continue;
    process["cpu_seconds"] = info.cpu_seconds;
    process["resident_bytes"] = static_cast<uint64_t>(info.resident_bytes);
    process["open_fds"] = static_cast<uint64_t>(info.open_fds);
  }
  for (const auto& one : feed.stderr_of(server["name"])) {
    json line{{"time", one.time}, {"line", one.text}};
    if (one.pid > 0) line["pid"] = one.pid;
    server["stderr"].push_back(std::move(line));
  }
  return server;
}

// ---- sessions ----

// The id is a secret: any holder could act as the session's client. This is a public name for it.
std::string public_id(const std::string& id) {
  return fmt::format("s{:016x}", std::hash<std::string>()(id));
}

// The processes of all servers, by the session that has each for itself. Within WorkerDirectory::paused().
struct SessionProcess {
  std::string upstream;
  pid_t pid;
};
using SessionProcesses = std::unordered_multimap<std::string, SessionProcess>;

SessionProcesses processes_of_sessions(const Sources& sources) {
  SessionProcesses out;
  for (const config::Server* server : sources.servers()) {
    for (auto& process : sources.status(*server).processes) {
      if (!process.session.empty())
        out.emplace(std::move(process.session), SessionProcess{server->name, process.pid});
    }
  }
  return out;
}

// ---- how long calls take ----

struct Sum {
  uint64_t calls = 0, failed = 0;
  metrics::Histogram took;
};

// Interpolated within its bucket, assuming an even distribution.
json quantile(const metrics::Histogram& histogram, double part) {
  auto all = bounds(histogram.buckets());
  const double wanted = part * static_cast<double>(histogram.count());
  double below = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto here = static_cast<double>(histogram.in_bucket(i));
    if (here > 0 && below + here >= wanted) {
      const double low = i == 0 ? 0 : all[i - 1];
      return (low + (all[i] - low) * (wanted - below) / here) * 1000;
    }
    below += here;
  }
  return all.back() * 1000;
}

// Cursors of a page of servers. A leaving server moves in the list and gets another name there: otherwise
// servers after it would be skipped.
std::vector<std::string> places_of(const Sources& sources,
                                   const std::vector<const config::Server*>& servers) {
  const size_t staying = sources.config.servers.size() + (sources.aggregate() != nullptr ? 1 : 0);
  std::vector<std::string> places;
  for (size_t i = 0; i < servers.size(); ++i)
    places.push_back(i < staying ? servers[i]->name : "leaving:" + servers[i]->name);
  return places;
}

}  // namespace

size_t worker_of_call(const Sources& sources, const std::string& id) {
  return exchange::call_number(id) % sources.workers.workers();
}

std::optional<json> calls_page(const Sources& sources, const CallQuery& query, bool ended) {
  auto page = page_of(sources, query);
  if (!page) return std::nullopt;
  json out{{"calls", json::array()}, {"total", page->total}};
  for (const CallView& one : page->calls)
    out["calls"].push_back(call_json(one));
  if (page->more && !page->calls.empty()) out["next"] = page->calls.back().id;
  if (!ended) return out;
  auto over = ends(sources);
  if (!over) return std::nullopt;
  out["ended"] = json::array();
  for (const EndedCall& one : *over) {
    if (!exchange::wants(query, one.call)) continue;
    out["ended"].push_back(ended_json(one, sources.loop.now()));
  }
  return out;
}

std::optional<json> listens_page(const Sources& sources, CallQuery query) {
  query.listens_only = true;
  auto page = page_of(sources, query);
  if (!page) return std::nullopt;
  json out{{"listens", json::array()}, {"total", page->total}};
  for (const CallView& one : page->calls)
    out["listens"].push_back(call_json(one, CallShape::listen));
  if (page->more && !page->calls.empty()) out["next"] = page->calls.back().id;
  return out;
}

std::optional<json> ended_call(const Sources& sources, const std::string& id) {
  std::optional<json> out;
  const size_t worker = worker_of_call(sources, id);
  sources.workers.run(worker, [&] {
    const EndedCall* found = sources.workers.view(worker).exchanges.log().find(id);
    if (found != nullptr) out = ended_json(*found, sources.loop.now(), CallShape::ended_story);
  });
  return out;
}

std::optional<json> call_story(const Sources& sources, const std::string& id) {
  json out = nullptr;
  const size_t worker = worker_of_call(sources, id);
  bool read = sources.workers.run(worker, [&] {
    if (auto view = CallViews(sources.workers.view(worker).exchanges).find(id))
      out = call_json(*view, CallShape::story);
  });
  if (!read) return std::nullopt;
  if (out.is_null()) out = ended_call(sources, id).value_or(nullptr);
  return out;
}

std::optional<json> ends_page(const Sources& sources, const PageQuery& query, const std::string& reason) {
  auto all = ends(sources);
  if (!all) return std::nullopt;
  std::reverse(all->begin(), all->end());
  std::erase_if(*all, [&](const EndedCall& one) {
    return (!reason.empty() && mcp::name(one.reason) != reason) ||
           !exchange::is_of(query.upstream, one.call.upstream, one.call.route);
  });
  const Cut page = cut_ends(*all, query);
  if (!page.found) return json(nullptr);
  json out{{"ends", json::array()}, {"total", all->size()}};
  for (size_t i = page.from; i < page.to; ++i)
    out["ends"].push_back(ended_json((*all)[i], sources.loop.now()));
  if (page.to < all->size()) {
    const EndedCall& last = (*all)[page.to - 1];
    out["next"] = fmt::format("{}@{}", last.call.id, last.ended_at.count());
  }
  return out;
}

std::optional<json> end_counts(const Sources& sources) {
  using Counts = exchange::EndCounts;
  std::array<Counts::Row, Counts::kMinutes> sums{};
  for (size_t k = 0; k < sources.workers.workers(); ++k) {
    bool read = sources.workers.run(k, [&] {
      const WorkerView& worker = sources.workers.view(k);
      for (size_t ago = 0; ago < Counts::kMinutes; ++ago) {
        const Counts::Row* row = worker.exchanges.log().counts().of(ago, sources.loop.now());
        if (row == nullptr) continue;
        for (size_t reason = 0; reason < row->size(); ++reason)
          sums[ago][reason] += (*row)[reason];
      }
    });
    if (!read) return std::nullopt;
  }
  json minutes = json::array();
  for (size_t ago = 0; ago < sums.size(); ++ago) {
    json ends = json::object();
    for (size_t reason = 0; reason < sums[ago].size(); ++reason) {
      if (sums[ago][reason] > 0)
        ends[std::string(mcp::name(static_cast<mcp::EndReason>(reason)))] = sums[ago][reason];
    }
    minutes.push_back({{"ago_minutes", ago}, {"ends", std::move(ends)}});
  }
  return json{{"minutes", std::move(minutes)}};
}

std::optional<json> servers_page(const Sources& sources, const EventRing& feed, const PageQuery& query) {
  std::vector<json> looks;
  size_t total = 0;
  bool found = true;
  std::string next;
  bool read = sources.workers.paused([&] {
    auto sessions = sources.sessions();
    auto servers = sources.servers();
    total = servers.size();
    const std::vector<std::string> places = places_of(sources, servers);
    const Cut page = cut(places, query, [](const std::string& one) { return one; });
    found = page.found;
    for (size_t i = page.from; i < page.to; ++i)
      looks.push_back(server_json(sources, *servers[i], sessions[servers[i]->name]));
    if (page.to < servers.size()) next = places[page.to - 1];
  });
  if (!read) return std::nullopt;
  if (!found) return json(nullptr);
  json out{{"servers", json::array()}, {"total", total}};
  for (json& one : looks)
    out["servers"].push_back(finished(std::move(one), feed));
  if (!next.empty()) out["next"] = next;
  return out;
}

std::optional<json> one_server(const Sources& sources, const EventRing& feed, const std::string& name) {
  std::optional<json> look;
  bool read = sources.workers.paused([&] {
    auto sessions = sources.sessions();
    for (const config::Server* one : sources.servers()) {
      if (one->name == name && !look) look = server_json(sources, *one, sessions[name]);
    }
  });
  if (!read) return std::nullopt;
  return look ? finished(std::move(*look), feed) : json(nullptr);
}

std::optional<json> sessions_page(const Sources& sources, TreeMemory& memory, const PageQuery& query) {
  struct Found {
    std::string name;
    size_t worker;
    std::string id;
  };
  std::vector<Found> all;
  for (size_t k = 0; k < sources.workers.workers(); ++k) {
    bool read = sources.workers.run(k, [&] {
      client::SessionTable& table = sources.workers.view(k).front.sessions();
      for (const std::string& id : table.ids()) {
        const client::Session* one = table.find(id);
        if (one != nullptr && (query.upstream.empty() || one->upstream == query.upstream))
          all.push_back({public_id(id), k, id});
      }
    });
    if (!read) return std::nullopt;
  }
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.name < b.name; });
  // By name order, so that the page after an ended session is found too.
  auto from = std::upper_bound(all.begin(), all.end(), query.after,
                               [](const std::string& name, const Found& one) { return name < one.name; });
  SessionProcesses processes;
  if (!sources.workers.paused([&] { processes = processes_of_sessions(sources); })) return std::nullopt;
  json out{{"sessions", json::array()}, {"total", all.size()}};
  for (; from != all.end() && out["sessions"].size() < query.limit; ++from) {
    json shown;
    sources.workers.run(from->worker, [&] {
      const client::Session* one = sources.workers.view(from->worker).front.sessions().find(from->id);
      if (one != nullptr) shown = session_json(*one, from->name, sources.loop.now());
    });
    if (shown.is_null()) continue;
    for (auto [it, end] = processes.equal_range(from->id); it != end; ++it) {
      json process{{"upstream", it->second.upstream}, {"pid", it->second.pid}};
      if (const auto bytes = memory.of(it->second.pid, sources.loop.now()))
        process["resident_bytes"] = *bytes;
      shown["processes"].push_back(std::move(process));
    }
    out["sessions"].push_back(std::move(shown));
  }
  if (from != all.end() && from != all.begin()) out["next"] = std::prev(from)->name;
  return out;
}

void add_memory(json& status, TreeMemory& memory, std::chrono::milliseconds now) {
  uint64_t all = 0;
  bool known = true;
  for (json& server : status["upstreams"]) {
    if (server["pids"].empty()) continue;
    uint64_t sum = 0;
    bool its = true;
    for (const json& pid : server["pids"]) {
      const auto bytes = memory.of(pid.get<pid_t>(), now);
      its = its && bytes.has_value();
      sum += bytes.value_or(0);
    }
    if (its) server["resident_bytes"] = sum;
    known = known && its;
    all += sum;
  }
  if (known) status["processes_resident_bytes"] = all;
  ProcessInfo own;
  if (read_process(getpid(), own)) status["resident_bytes"] = static_cast<uint64_t>(own.resident_bytes);
}

std::optional<json> operations_page(const Sources& sources, const PageQuery& query) {
  // By server, path, method and name.
  std::map<std::array<std::string, 4>, Sum> sums;
  bool read = sources.workers.paused([&] {
    sources.each([&](const WorkerView& worker) {
      for (const auto& server : worker.stats.upstreams) {
        auto add = [&](const metrics::UpstreamStats& stats, const std::string& route) {
          if (!exchange::is_of(query.upstream, server->name, route)) return;
          stats.server_operations.for_each(
              [&](const metrics::Operation& operation, const metrics::Histogram& took) {
                std::string_view name;
                if (operation.method == mcp::Method::tools_call) name = stats.tools.name(operation.name);
                if (operation.method == mcp::Method::prompts_get) name = stats.prompts.name(operation.name);
                const mcp::MethodRow* row = mcp::row(operation.method);
                Sum& sum = sums[{server->name, route, row == nullptr ? "_other" : std::string(row->name),
                                 sanitize(name, 100)}];
                sum.calls += took.count();
                if (!mcp::is(operation.reason, mcp::EndKind::success)) sum.failed += took.count();
                sum.took.add(took);
              });
        };
        add(*server, {});
        if (server->routed) add(*server->routed, sources.config.aggregate_server.name);
      }
    });
  });
  if (!read) return std::nullopt;
  std::vector<const std::pair<const std::array<std::string, 4>, Sum>*> order;
  for (const auto& one : sums)
    order.push_back(&one);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.calls > b->second.calls; });
  json out{{"operations", json::array()}, {"total", order.size()}};
  for (const auto* one : order) {
    if (out["operations"].size() == query.limit) break;
    const metrics::Histogram& took = one->second.took;
    json buckets = json::array();
    for (size_t i = 0; i <= bounds(took.buckets()).size(); ++i)
      buckets.push_back(took.in_bucket(i));
    out["operations"].push_back({{"upstream", one->first[0]},
                                 {"route", one->first[1]},
                                 {"method", one->first[2]},
                                 {"name", one->first[3]},
                                 {"calls", one->second.calls},
                                 {"failed", one->second.failed},
                                 {"seconds", took.sum()},
                                 {"p50_ms", quantile(took, 0.5)},
                                 {"p95_ms", quantile(took, 0.95)},
                                 {"p99_ms", quantile(took, 0.99)},
                                 {"buckets", std::move(buckets)}});
  }
  json limits = json::array();
  for (double bound : bounds(metrics::Buckets::mcp))
    limits.push_back(bound);
  out["bucket_seconds"] = std::move(limits);
  return out;
}

json log_page(const EventRing& feed, const EventRing::LogQuery& query) {
  bool more = false;
  json out{{"lines", json::array()}};
  std::string last;
  for (const EventRing::Line& line : feed.lines(query, more)) {
    json one = json::parse(line.json, nullptr, false);
    if (!one.is_object()) continue;
    last = feed.cursor(line.number);
    out["lines"].push_back({{"id", last}, {"line", std::move(one)}});
  }
  if (more) out["next"] = last;
  return out;
}

}  // namespace lineward::admin

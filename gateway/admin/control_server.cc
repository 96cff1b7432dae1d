#include "admin/control_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "admin/control_json.h"
#include "log/log.h"
#include "log/printable.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

constexpr std::string_view kCalls = "/api/v1/calls";
// A cancel is settled after cancelGrace; nobody is kept waiting for longer than this.
constexpr std::chrono::milliseconds kMaxWait{30000};
constexpr size_t kMaxReason = 200;

PlainResponse reply(int status, const json& body) {
  PlainResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return response;
}

PlainResponse refusal(int status, std::string_view text) {
  return reply(status, {{"error", text}});
}

PlainResponse stuck() {
  return refusal(503, "a worker of this gateway does not answer: its event loop stands still");
}

}  // namespace

struct ControlServer::Wait {
  explicit Wait(net::Loop& loop) : timer(loop) {}
  net::Timer timer;
  std::function<void()> finish;
};

ControlServer::ControlServer(const Sources& sources, std::function<std::string()> ops_url)
    : sources_(sources),
      ops_url_(std::move(ops_url)),
      server_(sources.loop, [this](const PlainRequest& request, PlainServer::Answer answer) {
        handle(request, std::move(answer));
      }) {}

ControlServer::~ControlServer() = default;

void ControlServer::handle(const PlainRequest& request, PlainServer::Answer answer) {
  if (!request.uid || (*request.uid != geteuid() && *request.uid != 0)) {
    log::write(log::Level::warn, "admin.denied",
               {{"uid", request.uid ? int64_t{*request.uid} : int64_t{-1}}});
    return answer(refusal(403, "this gateway answers its own user and root"));
  }
  // A browser cannot reach a Unix socket; a proxy in front of it might let one.
  if (request.head.headers.find("Origin") != nullptr) return answer(refusal(403, "not for web pages"));
  std::string_view path = request.path;
  bool get = request.head.method == "GET";
  auto only = [&](const char* method) {
    return not_allowed(method, refusal(405, fmt::format("this takes {}", method)));
  };
  if (path == "/api/v1/status") {
    if (!get) return answer(only("GET"));
    json status;
    bool read = sources_.workers.paused([&] { status = status_json(sources_, ops_url_()); });
    return answer(read ? reply(200, status) : stuck());
  }
  bool json_body =
      http::trim_white_space(request.head.headers.get("Content-Type")).substr(0, 16) == "application/json";
  if (path == "/api/v1/reload") {
    if (request.head.method != "POST") return answer(only("POST"));
    if (!json_body) return answer(refusal(415, "Content-Type must be application/json"));
    return answer(reload(request));
  }
  if (path == kCalls) return answer(get ? calls(request.parameter("all").has_value()) : only("GET"));
  if (path.substr(0, kCalls.size() + 1) != std::string(kCalls) + "/")
    return answer(refusal(404, "there is /api/v1/status, /api/v1/calls and /api/v1/reload"));
  std::string_view rest = path.substr(kCalls.size() + 1);
  std::string id(rest.substr(0, rest.find('/')));
  rest.remove_prefix(id.size());
  if (rest.empty()) return answer(get ? call(id) : only("GET"));
  if (rest != "/cancel") return answer(refusal(404, "a call can be asked for, and cancelled"));
  if (request.head.method != "POST") return answer(only("POST"));
  if (!json_body) return answer(refusal(415, "Content-Type must be application/json"));
  cancel(id, request, std::move(answer));
}

// Which worker gave a call this name (exchange::LiveExchanges::number_calls).
size_t ControlServer::worker_of(const std::string& id) const {
  uint64_t number = 0;
  if (id.size() > 1) std::from_chars(id.data() + 1, id.data() + id.size(), number, 16);
  return number % sources_.workers.workers();
}

PlainResponse ControlServer::calls(bool all) {
  json out{{"calls", json::array()}};
  if (all) out["ended"] = json::array();
  bool read = sources_.workers.paused([&] {
    sources_.each([&](const WorkerView& worker) {
      for (const auto& view : worker.exchanges.views())
        out["calls"].push_back(call_json(view));
      if (!all) return;
      for (const auto* ended : worker.exchanges.log().all())
        out["ended"].push_back(ended_json(*ended, sources_.loop.now()));
    });
  });
  return read ? reply(200, out) : stuck();
}

PlainResponse ControlServer::reload(const PlainRequest& request) {
  json body = request.body.empty() ? json::object() : json::parse(request.body, nullptr, false);
  if (!body.is_object()) return refusal(400, "the body must be a JSON object");
  auto wanted = body.find("dryRun");
  bool dry_run = wanted != body.end() && wanted->is_boolean() && wanted->get<bool>();
  if (!dry_run)
    log::write(log::Level::info, "admin.action", {{"action", "reload"}, {"uid", int64_t{*request.uid}}});
  ReloadReport report = sources_.reload.reload(dry_run, "control socket");
  int status = report.outcome == ReloadReport::Outcome::done       ? 200
               : report.outcome == ReloadReport::Outcome::rejected ? 422
                                                                   : 409;
  return reply(status, reload_json(report));
}

std::optional<json> ControlServer::ended(const std::string& id) {
  std::optional<json> out;
  const size_t worker = worker_of(id);
  sources_.workers.run(worker, [&] {
    const auto* found = sources_.workers.view(worker).exchanges.log().find(id);
    if (found != nullptr) out = ended_json(*found, sources_.loop.now());
  });
  return out;
}

PlainResponse ControlServer::unknown_call(const std::string& id) {
  json out{{"error", fmt::format("no call {} in flight", printable(id, 20))}};
  if (auto over = ended(id)) out["ended"] = std::move(*over);
  return reply(404, out);
}

PlainResponse ControlServer::call(const std::string& id) {
  std::optional<json> found;
  const size_t worker = worker_of(id);
  bool read = sources_.workers.run(worker, [&] {
    for (const auto& view : sources_.workers.view(worker).exchanges.views()) {
      if (view.id == id) found = call_json(view);
    }
  });
  if (!read) return stuck();
  if (!found) found = ended(id);
  return found ? reply(200, *found) : unknown_call(id);
}

void ControlServer::cancel(const std::string& id, const PlainRequest& request, PlainServer::Answer answer) {
  json body = request.body.empty() ? json::object() : json::parse(request.body, nullptr, false);
  if (!body.is_object()) return answer(refusal(400, "the body must be a JSON object"));
  std::string reason;
  if (auto given = body.find("reason"); given != body.end() && given->is_string())
    reason = printable(given->get<std::string>(), kMaxReason);
  auto wanted = body.find("wait");
  bool wait = wanted != body.end() && wanted->is_boolean() && wanted->get<bool>();
  std::string why = reason.empty() ? "cancelled by an operator" : "cancelled by an operator: " + reason;
  bool found = false;
  const size_t worker = worker_of(id);
  sources_.workers.run(worker, [&] { found = sources_.workers.view(worker).exchanges.cancel(id, why); });
  log::write(log::Level::info, "admin.action",
             {{"action", "call.cancel"},
              {"uid", int64_t{*request.uid}},
              {"call", printable(id, 20)},
              {"found", found ? "yes" : "no"},
              {"why", reason}});
  if (!found) return answer(unknown_call(id));
  if (wait) return when_settled(id, std::move(answer));
  auto over = ended(id);
  answer(reply(200, over ? *over : json{{"id", id}}));
}

void ControlServer::when_settled(const std::string& id, PlainServer::Answer answer) {
  auto wait = std::make_shared<Wait>(sources_.loop);
  waits_.insert(wait);
  std::weak_ptr<Wait> weak = wait;
  wait->finish = [this, id, weak, answer = std::move(answer)] {
    auto over = ended(id);
    answer(reply(200, over ? *over : json{{"id", id}}));
    // It may be on the stack.
    if (auto done = weak.lock()) {
      done->timer.stop();
      waits_.erase(done);
      sources_.loop.retire(std::move(done));
    }
  };
  wait->timer.start(kMaxWait, [weak] {
    if (auto late = weak.lock()) std::exchange(late->finish, nullptr)();
  });
  auto settled = [weak] {
    auto done = weak.lock();
    if (done && done->finish) std::exchange(done->finish, nullptr)();
  };
  const size_t worker = worker_of(id);
  sources_.workers.run(worker, [&] {
    sources_.workers.view(worker).exchanges.log().when_settled(
        id, [settled, worker, workers = &sources_.workers](const exchange::EndedCall*) {
          if (worker == 0) return settled();
          workers->tell_first(settled);
        });
  });
}

}  // namespace lineward::admin

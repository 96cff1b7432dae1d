#include "operate/admin/admin_api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "config/duration.h"
#include "config/reader/changes.h"
#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "operate/admin/api_lists.h"
#include "operate/admin/control_json.h"
#include "operate/admin/denial.h"
#include "operate/admin/openapi.h"
#include "operate/admin/redact_json.h"
#include "operate/admin/request_body.h"
#include "proxy/audit/audit.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/origin_book.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

// Maximum wait for a cancel, which is settled after cancelGrace.
constexpr std::chrono::milliseconds kMaxWait{30000};
constexpr size_t kMaxReason = 200;

PlainResponse stuck() {
  return refused(503, "a worker of this gateway does not answer: its event loop stands still");
}

bool flag(const json& body, const char* name) {
  auto found = body.find(name);
  return found != body.end() && found->is_boolean() && found->get<bool>();
}

std::string text(const json& body, const char* name) {
  auto found = body.find(name);
  return found != body.end() && found->is_string() ? sanitize(found->get<std::string>(), kMaxReason)
                                                   : std::string();
}

// nullopt if it is not a number from 1 to kMaxPage.
std::optional<size_t> limit_of(const PlainRequest& request) {
  auto given = request.parameter("limit");
  if (!given) return kMaxPage;
  size_t limit = 0;
  const char* end = given->data() + given->size();
  auto [stop, fault] = std::from_chars(given->data(), end, limit);
  if (fault != std::errc() || stop != end || limit == 0 || limit > kMaxPage) return std::nullopt;
  return limit;
}

std::string_view word(ServerAct act) {
  switch (act) {
    case ServerAct::start: return "start";
    case ServerAct::stop: return "stop";
    case ServerAct::restart: return "restart";
    case ServerAct::drain: return "drain";
  }
  return "";
}

ServerAct act_of(ApiCall call) {
  switch (call) {
    case ApiCall::server_start: return ServerAct::start;
    case ApiCall::server_stop: return ServerAct::stop;
    case ApiCall::server_drain: return ServerAct::drain;
    default: return ServerAct::restart;
  }
}

// The same text for callers without read access and without operate access.
std::string no_such_path(std::string_view path) {
  return fmt::format("there is no {}; /api/v1/openapi.json says what there is", sanitize(path, 100));
}

}  // namespace

struct AdminApi::Wait {
  explicit Wait(net::Loop& loop) : timer(loop) {}
  net::Timer timer;
  std::function<void()> finish;
};

AdminApi::AdminApi(const Sources& sources, std::function<OwnUrls()> urls)
    : sources_(sources), urls_(std::move(urls)), events_(EventStreamEndpoint::create(sources)) {}

AdminApi::~AdminApi() = default;

PlainResponse AdminApi::reply(int status, json body) {
  redact_json(body);
  PlainResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return response;
}

PlainResponse AdminApi::page(std::optional<json> body, const char* none) {
  if (!body) return stuck();
  return body->is_null() && none != nullptr ? refused(404, none) : reply(200, std::move(*body));
}

void AdminApi::handle(const PlainRequest& request, const Access& access, OpsHttpServer::Answer answer) {
  if (!access.role) return answer(access.refusal);  // AdminServer has logged it
  ApiMatch match = find_route(request.head.method, request.path);
  if (match.route == nullptr) {
    if (match.allow.empty()) return answer(refused(404, no_such_path(request.path)));
    return answer(not_allowed(match.allow, refused(405, fmt::format("this takes {}", match.allow))));
  }
  const ApiRoute& route = *match.route;
  if (route.role == Role::operate && *access.role != Role::operate) {
    tell_denied(request, access.who, 403);
    return answer(refused(403, sources_.config.admin.read_only
                                   ? "nothing can be changed here (admin.readOnly)"
                                   : "this takes a token of the role operate; this one is of the role read"));
  }
  Asked asked{request, route, std::move(match.argument), access.who};
  if (route.method == "GET") return answer(look(asked));
  // A page of another origin can send this only after a preflight, which is never answered.
  const std::string_view type = request.head.headers.get("Content-Type");
  if (http::trim_white_space(type.substr(0, type.find(';'))) != "application/json")
    return answer(refused(415, "Content-Type must be application/json"));
  const json body = request.body.empty() ? json::object() : parse_body(request.body);
  if (!body.is_object())
    return answer(refused(400, "the body must be a JSON object, with each of its members once"));
  if (std::string fault = body_fault(route, body); !fault.empty()) return answer(refused(400, fault));
  if (route.call == ApiCall::call_cancel) return cancel(asked, body, std::move(answer));
  answer(route.call == ApiCall::reload ? reload(asked, body) : act_on_server(asked, body));
}

PlainResponse AdminApi::look(const Asked& asked) {
  auto limit = limit_of(asked.http);
  if (!limit) return refused(400, fmt::format("limit is a number from 1 to {}", kMaxPage));
  PageQuery query{*limit, asked.http.parameter("after").value_or(""),
                  asked.http.parameter("upstream").value_or("")};
  EventRing& feed = events_->ring();
  switch (asked.route.call) {
    case ApiCall::openapi: return reply(200, openapi_document(sources_.version));
    case ApiCall::status: return look_at_status();
    case ApiCall::servers: {
      auto shown = servers_page(sources_, feed, query);
      // A reload removed it between two pages: the page after it is undefined.
      if (shown && shown->is_null())
        return refused(400, "after names no server of this configuration; begin with the first page again");
      return page(std::move(shown));
    }
    case ApiCall::server: return page(one_server(sources_, feed, asked.argument), "there is no such server");
    case ApiCall::calls:
    case ApiCall::listens: return look_at_calls(asked, *limit);
    case ApiCall::call: return look_at_call(asked);
    case ApiCall::sessions: return page(sessions_page(sources_, memory_, query));
    case ApiCall::ends: {
      auto shown = ends_page(sources_, query, asked.http.parameter("reason").value_or(""));
      if (shown && shown->is_null())
        return refused(400, "after names no call that is remembered: take it from next, such as c9f2@81234");
      return page(std::move(shown));
    }
    case ApiCall::end_counts: return page(end_counts(sources_));
    case ApiCall::operations: return page(operations_page(sources_, query));
    case ApiCall::log: return look_at_log(asked, *limit);
    case ApiCall::events: return events_->open(asked.http);
    default: break;
  }
  return refused(404, no_such_path(asked.http.path));
}

PlainResponse AdminApi::look_at_status() {
  json status;
  bool read = sources_.workers.paused([&] { status = status_json(sources_, urls_()); });
  if (!read) return stuck();
  add_memory(status, memory_, sources_.loop.now());
  return reply(200, std::move(status));
}

PlainResponse AdminApi::look_at_calls(const Asked& asked, size_t limit) {
  exchange::CallQuery query;
  query.limit = limit;
  query.upstream = asked.http.parameter("upstream").value_or("");
  query.method = asked.http.parameter("method").value_or("");
  const std::string after = asked.http.parameter("after").value_or("");
  query.after = exchange::call_number(after);
  if (!after.empty() && query.after == 0) return refused(400, "after is the id of a call, such as c9f2");
  if (auto older = asked.http.parameter("older")) {
    auto time = config::parse_duration(*older);
    if (!time) return refused(400, "older: " + time.error().text);
    query.older = *time;
  }
  if (asked.route.call == ApiCall::listens) return page(listens_page(sources_, query));
  return page(calls_page(sources_, query, query.after == 0 && asked.http.parameter("all").has_value()));
}

PlainResponse AdminApi::look_at_call(const Asked& asked) {
  auto story = call_story(sources_, asked.argument);
  if (!story) return stuck();
  return story->is_null() ? unknown_call(asked.argument) : reply(200, std::move(*story));
}

PlainResponse AdminApi::look_at_log(const Asked& asked, size_t limit) {
  EventRing::LogQuery query;
  query.limit = limit;
  query.upstream = asked.http.parameter("upstream").value_or("");
  const std::string level = asked.http.parameter("level").value_or("info");
  if (level != "info" && level != "warn" && level != "error")
    return refused(400, "level is info, warn or error");
  query.least = level == "info" ? log::Level::info : level == "warn" ? log::Level::warn : log::Level::error;
  // A cursor of an earlier process: everything here is new.
  query.after = events_->ring().number_of(asked.http.parameter("after").value_or("")).value_or(0);
  return reply(200, log_page(events_->ring(), query));
}

// Calls there go on; each worker sees it with its next call.
ServerActed AdminApi::act_on_origin(const std::string& server, const std::string& origin, ServerAct act) {
  ServerActed acted;
  acted.outcome = ServerActed::Outcome::refused;
  const auto book = upstream::OriginBook::find(server);
  const auto state = book ? book->named(origin) : nullptr;
  const config::Server* its = config::find_server(sources_.config, server);
  if (its == nullptr) {
    acted.outcome = ServerActed::Outcome::unknown;
    acted.error = core::not_in_service(sanitize(server, 100)).text;
  } else if (act != ServerAct::drain && act != ServerAct::start) {
    acted.error = fmt::format("an origin can be drained and started, not {}ed", word(act));
  } else if (!book || (its->urls.empty() && its->origins.resolve.count() == 0)) {
    acted.error = server + " has a single address";
  } else if (!state) {
    acted.outcome = ServerActed::Outcome::unknown;
    acted.error = fmt::format("{} has no origin '{}'; there are {}", server, sanitize(origin, 100),
                              fmt::join(book->names(), ", "));
  } else {
    state->drained = act == ServerAct::drain;
    acted.outcome = ServerActed::Outcome::done;
    acted.calls = state->in_flight;
    acted.sessions = state->sessions;
  }
  return acted;
}

PlainResponse AdminApi::act_on_server(const Asked& asked, const json& body) {
  const ServerAct act = act_of(asked.route.call);
  const bool force = flag(body, "force");
  const std::string origin = text(body, "origin");
  ServerActed acted = origin.empty() ? sources_.reload.act(asked.argument, act, force)
                                     : act_on_origin(asked.argument, origin, act);
  const bool done = acted.outcome == ServerActed::Outcome::done;
  log::write(log::Level::info, "admin.action",
             {{"action", fmt::format("server.{}", word(act))},
              {"who", asked.who},
              {"upstream", sanitize(asked.argument, 100)},
              {"origin", sanitize(origin, 100)},
              {"force", force ? "yes" : ""},
              {"outcome", done ? "done" : acted.error},
              {"why", text(body, "reason")}});
  audit::record(audit::Kind::action, {{"action", fmt::format("server.{}", word(act))},
                                      {"who", asked.who},
                                      {"from", asked.http.peer},
                                      {"server", asked.argument},
                                      {"origin", origin},
                                      {"force", force ? "yes" : ""},
                                      {"outcome", done ? "done" : acted.error},
                                      {"why", text(body, "reason")}});
  if (acted.outcome == ServerActed::Outcome::unknown) return refused(404, acted.error);
  if (!done) return refused(acted.outcome == ServerActed::Outcome::unanswered ? 503 : 409, acted.error);
  return reply(200, {{"name", asked.argument},
                     {"action", word(act)},
                     {"calls", acted.calls},
                     {"sessions", acted.sessions}});
}

PlainResponse AdminApi::reload(const Asked& asked, const json& body) {
  const bool dry_run = flag(body, "dryRun");
  if (!dry_run) log::write(log::Level::info, "admin.action", {{"action", "reload"}, {"who", asked.who}});
  ReloadReport report = sources_.reload.reload(dry_run, "admin API");
  const bool done = report.outcome == ReloadReport::Outcome::done;
  if (!dry_run) {
    audit::record(audit::Kind::action, {{"action", "reload"},
                                        {"who", asked.who},
                                        {"from", asked.http.peer},
                                        {"outcome", done ? "done" : report.error}});
  }
  const int status = done                                                  ? 200
                     : report.outcome == ReloadReport::Outcome::rejected   ? 422
                     : report.outcome == ReloadReport::Outcome::incomplete ? 503
                                                                           : 409;
  return reply(status, reload_json(report));
}

PlainResponse AdminApi::unknown_call(const std::string& id) {
  json out{{"error", fmt::format("no call {} in flight", sanitize(id, 20))}};
  if (auto over = ended_call(sources_, id)) out["ended"] = std::move(*over);
  return reply(404, std::move(out));
}

void AdminApi::cancel(const Asked& asked, const json& body, OpsHttpServer::Answer answer) {
  const std::string& id = asked.argument;
  const std::string reason = text(body, "reason");
  const std::string why = reason.empty() ? "cancelled by an operator" : "cancelled by an operator: " + reason;
  bool found = false;
  const size_t worker = worker_of_call(sources_, id);
  const bool asked_for =
      sources_.workers.run(worker, [&] { found = sources_.workers.view(worker).exchanges.cancel(id, why); });
  log::write(log::Level::info, "admin.action",
             {{"action", "call.cancel"},
              {"who", asked.who},
              {"call", sanitize(id, 20)},
              {"found", found ? "yes" : "no"},
              {"why", reason}});
  audit::record(audit::Kind::action, {{"action", "call.cancel"},
                                      {"who", asked.who},
                                      {"from", asked.http.peer},
                                      {"call", id},
                                      {"outcome", !asked_for ? "its worker does not answer"
                                                  : found    ? "done"
                                                             : "there is no such call in flight"},
                                      {"why", reason}});
  if (!asked_for) return answer(stuck());
  if (!found) return answer(unknown_call(id));
  if (flag(body, "wait")) return when_settled(id, std::move(answer));
  auto over = ended_call(sources_, id);
  answer(reply(200, over ? *over : json{{"id", id}}));
}

void AdminApi::when_settled(const std::string& id, OpsHttpServer::Answer answer) {
  auto wait = std::make_shared<Wait>(sources_.loop);
  waits_.insert(wait);
  std::weak_ptr<Wait> weak = wait;
  wait->finish = [this, id, weak, answer = std::move(answer)] {
    auto over = ended_call(sources_, id);
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
  const size_t worker = worker_of_call(sources_, id);
  sources_.workers.run(worker, [&] {
    sources_.workers.view(worker).exchanges.log().when_settled(
        id, [settled, worker, workers = &sources_.workers](const exchange::EndedCall*) {
          if (worker == 0) return settled();
          workers->tell_first(settled);
        });
  });
}

}  // namespace lineward::admin

#include "proxy/upstream/http/http_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/log/log.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/metrics/limits.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Method;
using State = core::UpstreamStatus::State;
using std::chrono::milliseconds;

constexpr milliseconds kStopLimit{3000};
// A server that crashed on an `initialize` may have had another reason: it is tried again after this time.
constexpr milliseconds kDoubt{10ll * 60 * 1000};

core::Failure stopping() {
  return {EndReason::cancelled_drain, "the gateway is stopping"};
}

}  // namespace

HttpUpstream::HttpUpstream(net::Loop& loop, const config::Server& server, SharedPart shared)
    : Upstream(server.name), loop_(loop), server_(server), shared_(std::move(shared)), stop_limit_(loop) {
  if (shared_) era_.share(shared_);
  if (shared_.worker != shared_.home) ids_.share();
  if (!server_.credentials.client_id.empty()) {
    oauth_ = std::make_unique<OauthClient>(loop_, server_, origins_.tls());
    origins_.use(*oauth_);
  }
  origins_.on_freed(lifetime_.guard([this] { schedule_pump(); }));
  note_hop();
  checks_.start();
}

HttpUpstream::~HttpUpstream() {
  lifetime_.end();
  plain_hops_.end_all(server_.name + " is leaving");
  groups_.clear();
  sub_requests_.drop_all();
}

void HttpUpstream::on_era_known(TransportCall& call) {
  if (auto refused = enqueue(static_cast<HttpCall&>(call))) call.fail(*refused);
}

// ---- new calls ----

Result<std::unique_ptr<core::Call>, core::Failure> HttpUpstream::start(core::UpstreamRequest&& request,
                                                                       core::CallCallbacks& owner) {
  using Refused = Unexpected<core::Failure>;
  if (stopping_) return Refused{stopping()};
  if (!origins_.fault().empty()) {
    return Refused{{EndReason::upstream_unreachable,
                    fmt::format("{} cannot be reached: {}", server_.name, origins_.fault())}};
  }
  if (auto full = places_.refusal(request, calls_here())) return Refused{std::move(*full)};
  auto is_probe = health_.admit();
  if (!is_probe) return Refused{is_probe.error()};
  auto call = std::make_unique<HttpCall>(parts_, std::move(request), owner);
  if (!call->is_listen()) call->place.take(places_.shares(), call->request.account());
  call->turn.take(places_.shares(), call->request.account());
  call->health_probe = *is_probe;
  const bool needs_verdict = !call->request.of_session();
  if (needs_verdict && !era_.is_current()) {
    era_.wait(*call);
  } else {
    auto failure = enqueue(*call);
    if (failure) {
      call->cancel("");
      return Refused{*failure};
    }
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

// Calls that wait for a session or the era are counted too.
uint64_t HttpUpstream::calls_here() const {
  return era_.waiting() + slots_.waiting() + groups_.queued() + calls_.in_flight();
}

std::optional<core::Failure> HttpUpstream::enqueue(HttpCall& call) {
  if (auto other = era_.refusal(call.request)) return other;
  const mcp::Era era = era_for(call.request.scope);
  if (SessionPlanner::is_stateless(call.request, era)) {
    groups_.join(groups_.get(planner_.stateless()), call);
    schedule_pump();
    return std::nullopt;
  }
  auto plan = planner_.plan(call.request, era);
  if (!plan) return plan.error();
  if (plan->bridged) {
    auto open = bridged_.find(call.request.scope.bridged_session);
    if (open == bridged_.end()) return core::Failure{EndReason::cancelled_drain, "its session ended"};
    groups_.get(*plan).set_scope(open->second.owner);
  }
  if (!groups_.has_room(*plan)) {
    metrics::limit_reached(metrics::Limit::own_sessions);
    return core::Failure{mcp::EndReason::queue_full,
                         fmt::format("all {} sessions that Lineward may have with {} are in use "
                                     "(limits.maxGatewaySessions)",
                                     server_.limits.max_gateway_sessions, server_.name)};
  }
  slots_.place(call, std::move(*plan));
  schedule_pump();
  return std::nullopt;
}

mcp::Era HttpUpstream::era_for(const core::Scope& scope) {
  const bool may_be_both = era_.is_modern() && server_.protocol_era == config::Era::automatic;
  if (!may_be_both || !planner_.is_bridged(scope)) return era_.era();
  auto open = bridged_.find(scope.bridged_session);
  if (open == bridged_.end()) return era_.era();
  const bool begins = groups_.of_client(scope) == nullptr;
  if (begins && loop_.now() < modern_only_until_) open->second.is_modern = true;
  return open->second.is_modern ? mcp::Era::modern : mcp::Era::legacy;
}

// As for a client's own `initialize` that was refused, or a server that serves legacy clients one request at
// a time (ModernBridge).
void HttpUpstream::serve_as_modern(SessionGroup& group) {
  modern_only_until_ = loop_.now() + kDoubt;
  const std::deque<HttpCall*> waiting = group.queue().take_all();
  for (auto& [session, open] : bridged_) {
    if (groups_.find(CallerGrouping::key_of_session({{}, {}, {}, {}, session})) == &group)
      open.is_modern = true;
  }
  log::write(log::Level::debug, "session.bridged", {{"upstream", server_.name}});
  groups_.close(group, "its server refused the old revisions");
  for (HttpCall* call : waiting) {
    if (auto refused = enqueue(*call)) call->fail(*refused);
  }
}

void HttpUpstream::pump() {
  slots_.fill(era_.era());
  const auto& wanting = groups_.wanting();
  if (wanting.size() == 1) {
    SessionGroup& only = **wanting.begin();
    if (only.wants_pump()) pump(only, std::numeric_limits<size_t>::max());
  } else {
    pump_in_turns(wanting);
  }
  groups_.prune_line();
  calls_.pumped();
}

// Groups that need a place for a call take turns, in the order of their first calls' turns. A failed call may
// start others and so add groups: iterates over a copy of the keys.
void HttpUpstream::pump_in_turns(const ReadyQueue<SessionGroup>& wanting) {
  std::vector<std::pair<uint64_t, std::string>> waiting;
  for (SessionGroup* group : wanting) {
    const HttpCall* first = group->queue().first();
    waiting.emplace_back(first != nullptr ? first->turn.number() : 0, group->key);
  }
  std::sort(waiting.begin(), waiting.end());
  while (!waiting.empty()) {
    const size_t most = std::max<size_t>(1, calls_.places() / waiting.size());
    std::erase_if(waiting, [&](const auto& one) {
      SessionGroup* group = groups_.find(one.second);
      return group == nullptr || !group->wants_pump() || !pump(*group, most);
    });
  }
}

// Sends at most `most` calls; true: it would send more.
bool HttpUpstream::pump(SessionGroup& group, size_t most) {
  bool full = false, wants_more = false;
  if (group.queue().empty() && !group.session() && !stopping_) {
    groups_.open(group);
    return false;
  }
  while (!group.queue().empty()) {
    HttpCall& call = *group.queue().first();
    if (wants_more = !call.is_listen() && most == 0; wants_more) {
      full = true;
      break;
    }
    if (group.era == mcp::Era::legacy) {
      // A listen in an existing session does not test its server.
      if (group.is_ready() && call.is_listen() && std::exchange(call.health_probe, false))
        health_.probe_withdrawn();
      if (group.is_ready() && groups_.answers(group, call)) continue;
      if (full = groups_.awaits_origin(group); full) break;
      if (!groups_.takes(group, call)) break;
    }
    if (auto failure = calls_.refuses(group, call)) {
      group.queue().take_first();
      call.fail(*failure);
      continue;
    }
    if (!calls_.take_room(group, call)) {
      full = true;
      break;
    }
    group.queue().take_first();
    call.turn.served();
    if (!call.is_listen()) --most;
    calls_.send(group, call);
  }
  if (group.queue().empty()) return false;
  for (HttpCall* call : group.queue().all())
    call->phase(full ? core::CallPhase::queued : core::CallPhase::starting);
  return wants_more;
}

// ---- groups, and notifications of their clients ----

// A bridged session gets its group with its first request, which carries the client's capabilities. A modern
// server's session has no group, since the server keeps no state for it.
void HttpUpstream::open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) {
  if (!scope.bridged_session.empty()) bridged_[scope.bridged_session] = {&owner};
  if (scope.session.empty()) return;
  SessionPlan plan = planner_.plan(scope);
  if (plan.initialize_params.empty()) groups_.get(plan).set_scope(&owner);
}

// Not portable: a session of several clients, which this process initialises, HTTP+SSE, which ends with its
// stream, and a session at one of several origins.
core::UpstreamParts HttpUpstream::parts(const core::Scope& scope) {
  const bool is_portable = config::is_of_one_session(server_.isolation) && !groups_.speaks_sse() &&
                           !origins_.are_several() && !stopping_;
  const bool is_translated = era_.is_modern() && era_for(scope) == mcp::Era::modern;
  return {this, this, is_portable ? this : nullptr, is_translated};
}

void HttpUpstream::close_scope(const core::Scope& scope) {
  bridged_.erase(scope.bridged_session);
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr) return;
  if (group->session()) group->session()->stream().unshare();  // it ends on all replicas
  groups_.close(*group, "its session ended");
}

void HttpUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                        const core::HeaderFields& headers) {
  if (client_era == mcp::Era::modern) return send_modern(message, headers);
  if (scope.session.empty() && scope.bridged_session.empty() && groups_.keeps_sessions() == false)
    return send_without_session(message, headers);
  if (server_.isolation == config::Isolation::call || stopping_) return;
  SessionGroup* group =
      scope.bridged_session.empty() ? groups_.find(planner_.plan(scope).key) : groups_.of_client(scope);
  if (group == nullptr || !group->is_ready()) return;
  if (group->own_handshake && group->scope() == nullptr) return;  // no client's own session
  if (mcp::method_of(message.method()) == Method::initialized)
    return group->session()->send_initialized(message.bytes());
  group->session()->post(message.bytes());
}

// Dropped for a legacy server, which does not know them.
void HttpUpstream::send_modern(const mcp::Message& message, const core::HeaderFields& headers) {
  if (server_.isolation == config::Isolation::call || stopping_) return;
  if (!era_.is_modern()) return;
  SubRequestPlan plan;
  plan.request.body = mcp::with_envelope(message);
  plan.request.headers = base_headers(server_, HttpVerb::post);
  add_all(plan.request.headers, forwarded_headers(server_, headers));
  if (auto sent = mcp::Message::parse(plan.request.body))
    add_modern_headers(plan.request.headers, *sent, headers);
  sub_requests_.run(std::move(plan));
}

// ---- sessions that other replicas serve too ----

std::optional<core::ScopeState> HttpUpstream::share_scope(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr || !group->is_ready() || group->session()->over_sse()) {
    return std::nullopt;
  }
  ids_.share();
  group->session()->stream().share();
  return core::ScopeState{group->session()->credentials().id(), group->session()->legacy_server().revision};
}

core::Adoption HttpUpstream::adopt_scope(const core::Scope& scope, core::ScopeCallbacks& owner,
                                         const core::ScopeState& state) {
  SessionPlan plan = planner_.plan(scope);
  if (!plan.initialize_params.empty() || groups_.find(plan.key) != nullptr) return core::Adoption::refused;
  if (!groups_.has_session_room()) return core::Adoption::full;
  ids_.share();
  SessionGroup& group = groups_.get(plan);
  group.set_scope(&owner);
  group.opened();
  groups_.open_session(group, HttpSession::Transport::streamable_http);
  group.session()->adopt(state.server_session, state.revision);
  log::write(log::Level::info, "session.adopted",
             {{"upstream", server_.name}, {"session", scope.session.substr(0, 8)}});
  return core::Adoption::done;
}

void HttpUpstream::open_stream(const core::Scope& scope, const core::HeaderFields& headers) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr || !group->session()) return;
  group->session()->credentials().remember(lasting_headers(forwarded_headers(server_, headers)));
  group->session()->stream().want();
}

void HttpUpstream::close_stream(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group != nullptr && group->session()) group->session()->stream().let_go();
}

void HttpUpstream::when_settled(const core::Scope& scope, std::function<void()> done) {
  SessionGroup* group = groups_.of_client(scope);
  if (group != nullptr && group->session()) return group->session()->when_settled(std::move(done));
  loop_.defer(std::move(done));
}

void HttpUpstream::leave_scope(const core::Scope& scope) {
  SessionGroup* group = groups_.of_client(scope);
  if (group == nullptr) return;
  if (group->session()) group->session()->stream().share();
  groups_.close(*group, "its session is served elsewhere");
}

void HttpUpstream::notice(core::UpstreamNotice what) {
  if (what == core::UpstreamNotice::wake) {
    const bool back = !health_.circuit_closed() && health_.open_for().count() == 0;
    if (!era_.is_known() || back) era_.ask();
  }
  if (what != core::UpstreamNotice::reconfigured) return;
  origins_.reconfigure();
  checks_.start();
  groups_.leave_closed_origins();
  calls_.limits_changed();
  sub_requests_.set_max_message_bytes(server_.limits.max_message_bytes);
  schedule_pump();
}

// ---- requests and notifications without a session ----

// Dropped if sessions are shared (isolation): a notification concerns one client only.
void HttpUpstream::send_without_session(const mcp::Message& message, const core::HeaderFields& headers) {
  const bool own = config::is_of_one_session(server_.isolation);
  if (stopping_ || !origins_.fault().empty() || !own || groups_.keeps_sessions() != false) return;
  SubRequestPlan plan;
  plan.request.body = message.bytes();
  plan.request.headers = base_headers(server_, HttpVerb::post);
  add_all(plan.request.headers, forwarded_headers(server_, headers));
  add_revision(plan.request.headers, headers);
  sub_requests_.run(std::move(plan));
}

// A GET or DELETE of a client to a server that keeps no sessions.
std::unique_ptr<core::Hop> HttpUpstream::hop(core::HopRequest request, core::HopListener& listener) {
  if (stopping_ || !origins_.fault().empty() || groups_.keeps_sessions() != false) return nullptr;
  HttpRequest out{
      request.method, base_headers(server_, request.method == "GET" ? HttpVerb::get : HttpVerb::remove), {}};
  add_all(out.headers, forwarded_headers(server_, request.headers));
  add_revision(out.headers, request.headers);
  for (const auto& [name, value] : request.headers) {
    if (http::equals_ignoring_case(name, "Last-Event-ID")) out.headers.push_back({"Last-Event-ID", value});
  }
  return std::make_unique<HttpPlainHop>(plain_hops_, origins_.any().pool(), std::move(out), listener, server_,
                                        failures_.are_of_clients());
}

void HttpUpstream::fetch_document(const std::string& path, core::DocumentDone done) {
  if (origins_.fault().empty() && !stopping_)
    return documents_.fetch(origins_.any().pool(), path, std::move(done));
  loop_.defer([done = std::move(done)] {
    done(Unexpected<core::NoDocument>{{503, "the server cannot be asked now"}});
  });
}

// ---- status ----

core::UpstreamStatus HttpUpstream::status() const {
  core::UpstreamStatus status;
  status.server = era_.verdict().server;
  status.versions = era_.versions();
  status.origins = origins_.status();
  if (stopping_) {
    status.state = State::draining;
  } else if (!health_.circuit_closed()) {
    status.state = State::open;
    status.limit = health_.open_for();
    status.why = health_.why();
  } else if (era_.is_known()) {
    status.state = State::ready;
  } else if (!prober_.is_busy() && !era_.verdict().failure.text.empty()) {
    status.state = State::failed;
    status.why = era_.verdict().failure.text;
  } else if (server_.start == config::ServerStart::on_use && !prober_.is_busy() && era_.waiting() == 0) {
    status.state = State::idle;
    status.why = "a client's first message connects to it (start: onUse)";
  } else {
    status.state = State::starting;
    status.limit = server_.timeouts.startup;
    status.why = era_.verdict().failure.text;
  }
  return status;
}

// Its address, for labels; without the path, which may contain secrets.
void HttpUpstream::note_hop() {
  const HttpUrl& url = origins_.first().url();
  if (url.target.empty()) return;  // it is invalid
  stats_.transport = url.unix_path.empty() ? "tcp" : "unix";
  if (!url.unix_path.empty()) return;
  stats_.server_address = url.host;
  stats_.server_port = std::to_string(url.port);
}

// ---- the end ----

void HttpUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  checks_.stop();
  health_.stop();
  stopped_ = std::move(done);
  groups_.stop();
  calls_.stop();
  plain_hops_.end_all(server_.name + " is leaving");
  std::deque<TransportCall*> waiting = era_.stop();
  std::deque<HttpCall*> slotless = slots_.stop();
  waiting.insert(waiting.end(), slotless.begin(), slotless.end());
  for (TransportCall* call : waiting)
    call->fail(stopping());
  for (const auto& key : groups_.keys()) {
    if (SessionGroup* group = groups_.find(key)) groups_.close(*group, "the gateway is stopping");
  }
  // Last messages and cancels get a moment to arrive.
  stop_limit_.start(kStopLimit, [this] { sub_requests_.drop_all(); });
  sub_requests_.when_empty(lifetime_.guard([this] { check_stopped(); }));
}

void HttpUpstream::check_stopped() {
  stop_limit_.stop();
  origins_.close_idle();
  if (stopped_) std::exchange(stopped_, nullptr)();
}

}  // namespace lineward::upstream

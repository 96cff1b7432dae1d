#include "upstream/http_upstream.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/spare_texts.h"
#include "mcp/rewrite.h"
#include "upstream/first_revision.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

constexpr milliseconds kStopLimit{3000};

core::Failure stopping() {
  return {EndReason::cancelled_drain, "the gateway is stopping"};
}

}  // namespace

HttpUpstream::HttpUpstream(net::Loop& loop, const config::Server& server)
    : loop_(loop), server_(server), stop_limit_(loop) {
  if (auto url = parse_http_url(server.url)) {
    url_ = *url;
    note_hop();
  } else {
    broken_ = url.error().text;
  }
  std::shared_ptr<net::TlsContext> tls;
  if (url_.tls) {
    auto context = net::TlsContext::for_client({server.ca_file, server.client_cert, server.client_key});
    if (context) {
      tls = *context;
    } else {
      broken_ = context.error().text;
    }
  }
  auto options = pool_options(server, url_);
  if (!options && broken_.empty()) broken_ = options.error().text;
  if (!server.credentials.client_id.empty()) oauth_ = std::make_unique<OauthClient>(loop, server, tls);
  if (options) options->stats = &stats_;
  pool_ = std::make_unique<HttpPool>(loop, url_, std::move(tls), options ? *options : PoolOptions());
  if (oauth_) pool_->use(*oauth_);
  pool_->on_freed(lifetime_.guard([this] { schedule_pump(); }));
  errands_ = std::make_unique<HttpErrands>(*pool_, server.limits.max_message_bytes);
  groups_ = std::make_unique<SessionGroups>(*pool_, *errands_, server, *this, pump_later_, *this);
  slots_ = std::make_unique<QuestionSlots>(loop, server, *groups_, planner_, pump_later_);
  portable_ = std::make_unique<PortableSessions>(loop, server, *groups_, planner_, ids_);
  if (broken_.empty()) documents_ = std::make_unique<HttpDocuments>(*pool_);
  era_ = std::make_unique<HttpEra>(loop, server, *errands_, health_, broken_, *this);
  sse_ = std::make_unique<SseFallback>(server, *groups_, *era_);
}

HttpUpstream::~HttpUpstream() {
  lifetime_.end();
  plain_hops_.end_all(server_.name + " is leaving");
  groups_->clear();
  errands_->drop_all();
}

void HttpUpstream::on_era_known(HttpCall& call) {
  if (auto refused = enqueue(call)) call.fail(*refused);
}

// ---- calls on their way in ----

Result<std::unique_ptr<core::Call>, core::Failure> HttpUpstream::start(core::CallRequest&& request,
                                                                       core::CallOwner& owner) {
  using Refusal = Unexpected<core::Failure>;
  if (stopping_) return Refusal{stopping()};
  if (!broken_.empty()) {
    return Refusal{
        {EndReason::upstream_unreachable, fmt::format("{} cannot be reached: {}", server_.name, broken_)}};
  }
  if (era_->waiting() + slots_->waiting() + groups_->queued() >= server_.limits.max_queue) {
    return Refusal{{EndReason::queue_full, fmt::format("{} calls wait for {} already (limits.maxQueue)",
                                                       server_.limits.max_queue, server_.name)}};
  }
  if (auto full = shares_.refusal(request, server_)) return Refusal{std::move(*full)};
  auto is_probe = health_.admit();
  if (!is_probe) return Refusal{is_probe.error()};
  auto call = std::make_unique<HttpCall>(*this, std::move(request), owner);
  call->health_probe = *is_probe;
  bool needs_verdict = call->request.client_era == mcp::Era::modern;
  if (needs_verdict && !era_->is_current()) {
    era_->wait(*call);
  } else {
    auto failure = enqueue(*call);
    if (failure) {
      call->cancel("");
      return Refusal{*failure};
    }
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

std::optional<core::Failure> HttpUpstream::enqueue(HttpCall& call) {
  if (SessionPlanner::is_stateless(call.request, era_->era())) {
    groups_->join(groups_->get(planner_.stateless()), call);
    schedule_pump();
    return std::nullopt;
  }
  auto plan = planner_.plan(call.request, era_->era());
  if (!plan) return plan.error();
  if (!groups_->has_room(*plan)) {
    return core::Failure{mcp::EndReason::queue_full,
                         fmt::format("all {} sessions that Lineward may have with {} are in use "
                                     "(limits.maxOwnSessions)",
                                     server_.limits.max_own_sessions, server_.name)};
  }
  slots_->place(call, std::move(*plan));
  schedule_pump();
  return std::nullopt;
}

void HttpUpstream::pump() {
  slots_->fill(era_->era());
  // A call that fails may start others and so add groups: walk a copy of the keys.
  std::vector<std::string> waiting;
  for (const SessionGroup* group : groups_->wanting())
    waiting.push_back(group->key);
  for (const auto& key : waiting) {
    SessionGroup* group = groups_->find(key);
    if (group != nullptr && group->wants_pump()) pump(*group);
  }
  groups_->prune_line();
}

void HttpUpstream::pump(SessionGroup& group) {
  bool full = false;
  if (group.queue.empty() && !group.session && !stopping_) {
    if (!group.must_wait([this] { schedule_pump(); })) open_session(group);
    return;
  }
  while (!group.queue.empty()) {
    HttpCall& call = *group.queue.front();
    if (group.era == mcp::Era::legacy) {
      if (group.session && group.session->state() == HttpSession::State::ready && handled_here(group, call))
        continue;
      if (!session_takes(group, call)) break;
    }
    if (pool_->full() || (!call.is_listen() && in_flight_ >= server_.limits.max_in_flight)) {
      full = true;
      break;
    }
    group.queue.pop_front();
    send(group, call);
  }
  std::deque<HttpCall*> left = group.queue;
  for (HttpCall* call : left)
    call->phase(full ? core::CallPhase::queued : core::CallPhase::starting);
}

// Whether the session is there and may be given the first call that waits; sees to it that it will be.
bool HttpUpstream::session_takes(SessionGroup& group, HttpCall& call) {
  bool first = call.request.method == Method::initialize && !group.own_handshake;
  if (!group.session) {
    if (groups_->is_full()) {
      fail_queue(group, {EndReason::queue_full, fmt::format("{} has {} sessions already (limits.maxSessions)",
                                                            server_.name, server_.limits.max_sessions)});
      return false;
    }
    if (!first && !group.can_initialize()) {
      fail_queue(group, {EndReason::upstream_protocol,
                         fmt::format("this session was never initialised by {}", server_.name)});
      return false;
    }
    if (group.must_wait([this] { schedule_pump(); })) return false;
    open_session(group);
  }
  HttpSession& session = *group.session;
  if (session.state() == HttpSession::State::lost) {
    fail_queue(group, group.session_over());
    return false;
  }
  if (first && session.state() == HttpSession::State::fresh) {
    session.opening();
    return true;
  }
  if (session.state() == HttpSession::State::ready && session.stream_stands() && group.translates(call))
    session.want_level(call.request.message);
  if (group.exclusive && mcp::may_ask(call.request.method) && !slots_->may_follow(group)) return false;
  return session.takes(call);
}

// What a session need not be asked: who its server is, and the listens it does not know.
bool HttpUpstream::handled_here(SessionGroup& group, HttpCall& call) {
  if (!group.own_handshake) return false;
  bool modern = call.request.client_era == mcp::Era::modern;
  std::string text;
  if (modern && call.is_listen()) {
    if (!group.session->stream_stands()) return false;
    group.queue.pop_front();
    group.listens.open(call, *group.session);
    return true;
  }
  if (modern) {
    text = mcp::answer_in_its_place(call.request.method, group.session->legacy_server());
  } else if (call.request.method == Method::initialize) {
    text = fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", group.session->initialize_result());
  }
  if (text.empty()) return false;
  group.queue.pop_front();
  auto answer = mcp::Message::parse(std::move(text));
  if (answer) {
    call.answer(std::move(*answer));
  } else {
    call.fail(
        {EndReason::upstream_protocol, fmt::format("{} answered initialize with no result", server_.name)});
  }
  return true;
}

void HttpUpstream::send(SessionGroup& group, HttpCall& call) {
  call.id = ids_.next();
  calls_.emplace_hint(calls_.end(), call.id, &call);
  group.calls.add(call);
  if (call.counts()) ++in_flight_;
  group.used();
  group.listens.asked();
  call.phase(core::CallPhase::starting);
  if (!call.live()) return;  // cancelled just now
  HttpRequest request;
  Headers forwarded = forwarded_headers(server_, call.request.headers);
  if (group.era == mcp::Era::modern) {
    if (forwarded.empty()) {  // nothing of the client's can stand for one of Lineward's
      request.shared_headers = &post_headers_;
      request.lines = SpareTexts::take(256);
      modern_lines_.append(request.lines, call.request.message, call.request.headers);
    } else {
      request.headers = post_headers_.all();
      add_all(request.headers, forwarded);
      add_modern_headers(request.headers, call.request.message, call.request.headers);
    }
    request.body = mcp::request_for_upstream(call.request.message, call.id);
  } else {
    HttpSession& session = *group.session;
    call.in_session = session.has_id() ? group.session_number() : 0;
    session.remember(lasting_headers(forwarded));
    if (session.over_sse() || !group.sees_status) group.remember(call);
    if (group.translates(call)) {
      request = session.request(mcp::modern_request_for_legacy(call.request.message, call.id));
    } else {
      request = session.request(legacy_request(session, call));
    }
    add_all(request.headers, forwarded);
    if (group.plain) add_revision(request.headers, call.request.headers);
  }
  call.messages =
      std::make_unique<HttpMessages>(*pool_, std::move(request), server_.limits.max_message_bytes, call);
}

// ---- what is refused, and what is no call ----

// A client can do something about 401, 403 and 429 only where its own credentials went up. Elsewhere they
// mean Lineward's, and a client that saw them would log in at the wrong door (behaviour.md 11, authorization
// for the plain sidecar).
core::Failure HttpUpstream::failure_of(const MessagesEnd& end) {
  core::Failure failure{end.fault.reason, fmt::format("{} {}", server_.name, end.fault.text),
                        end.fault.limit_ms};
  failure.server_status = end.status;
  bool of_client = end.status == 401 || end.status == 403 || end.status == 429;
  if (!of_client) return failure;
  if (plain_sidecar_) {
    failure.headers = end.challenge;
  } else {
    failure.reason = end.status == 429 ? EndReason::upstream_unreachable : EndReason::upstream_protocol;
  }
  return failure;
}

void HttpUpstream::fetch_document(const std::string& path, core::DocumentDone done) {
  if (documents_ && !stopping_) return documents_->fetch(path, std::move(done));
  loop_.defer([done = std::move(done)] {
    done(Unexpected<core::NoDocument>{{503, "the server cannot be asked now"}});
  });
}

// ---- the end ----

void HttpUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  health_.stop();
  stopped_ = std::move(done);
  groups_->stop();
  farewells_.close_kept();
  plain_hops_.end_all(server_.name + " is leaving");
  std::deque<HttpCall*> waiting = era_->stop();
  std::deque<HttpCall*> slotless = slots_->stop();
  waiting.insert(waiting.end(), slotless.begin(), slotless.end());
  for (HttpCall* call : waiting)
    call->fail(stopping());
  for (const auto& key : groups_->keys()) {
    if (SessionGroup* group = groups_->find(key)) close_group(*group, "the gateway is stopping");
  }
  // Goodbyes and cancels get a moment to arrive.
  stop_limit_.start(kStopLimit, [this] { errands_->drop_all(); });
  errands_->when_empty(lifetime_.guard([this] { check_stopped(); }));
}

void HttpUpstream::check_stopped() {
  stop_limit_.stop();
  pool_->close_idle();
  if (stopped_) std::exchange(stopped_, nullptr)();
}

}  // namespace lineward::upstream

#include "proxy/aggregate/routed_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/tools_view.h"
#include "foundation/json/json_at.h"
#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "protocol/mcp/errors.h"
#include "proxy/core/answer_size.h"
#include "proxy/metrics/stats.h"

namespace lineward::aggregate {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

namespace {

Topic topic_of(const mcp::Message& request, Method method) {
  switch (method) {
    case Method::tools_call: return Topic::tools;
    case Method::resources_read: return Topic::resources;
    case Method::completion_complete: {
      const std::string& text = request.bytes();
      json::Span ref = json::member_at(text, request.at(Field::params), "ref");
      bool resource = json::string_at(text, json::member_at(text, ref, "type")) == "ref/resource";
      return resource ? Topic::resources : Topic::prompts;
    }
    default: return Topic::prompts;
  }
}

bool names_something(Method method) {
  switch (method) {
    case Method::tools_call:
    case Method::prompts_get:
    case Method::resources_read:
    case Method::completion_complete:
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel: return true;
    default: return false;
  }
}

}  // namespace

RoutedCall::RoutedCall(AggregateUpstream& aggregate, core::UpstreamRequest request,
                       core::CallCallbacks& owner)
    : PassingCall(std::move(request), &owner), aggregate_(aggregate), number_(aggregate.next_number()) {}

RoutedCall::~RoutedCall() {
  if (live()) cancel_alive(aggregate_.name());
  inner_.reset();  // before the lease on its server
}

void RoutedCall::begin() {
  names_something(request_.method) ? go() : go_by_capability();
}

void RoutedCall::learn(Topic topic) {
  aggregate_.loop().defer(lifetime_, [this] {
    if (live() && !inner_) owner_->on_call_phase(core::CallPhase::starting);
  });
  waiter_ = aggregate_.discovery().learn(topic, request_, lifetime_.guard([this, topic] {
    if (!live()) return;
    waiter_ = 0;
    // If the discovery was joined with another caller's credentials, it is repeated with its own.
    topic == Topic::facts ? go_by_capability() : go();
  }));
}

// The server out of service that the request is for; empty: none, as far as the name shows.
std::optional<std::string> RoutedCall::owner_among(const std::vector<std::string>& absent,
                                                   Routed routed) const {
  if (absent.empty()) return std::nullopt;
  if (routed.fault == Fault::unknown)
    routed = route(aggregate_.shown(), request_.message, request_.method, absent, true);
  const bool absent_one = routed.fault == Fault::none &&
                          std::find(absent.begin(), absent.end(), routed.route.server) != absent.end();
  return absent_one ? std::optional(routed.route.server) : std::nullopt;
}

void RoutedCall::go() {
  const mcp::Message& message = request_.message;
  Topic topic = topic_of(message, request_.method);
  const std::vector<std::string> names = aggregate_.names(AggregateUpstream::Named::members);
  Routed routed = route(aggregate_.shown(), message, request_.method, names, false);
  const bool only_lists_tell = routed.fault == Fault::needs_lists;
  if (only_lists_tell) {
    if (!aggregate_.discovery().is_fresh(topic, request_)) return learn(topic);
    routed = route(aggregate_.shown(), message, request_.method, names, true);
  }
  json::Span at = target_at(message, request_.method);
  std::string target = json::string_at(message.bytes(), at);
  auto member = routed.fault == Fault::none ? aggregate_.find(routed.route.server) : nullptr;
  if (member) return send(member, routed.route);
  bool resource = topic == Topic::resources && request_.method != Method::tools_call;
  if (routed.fault == Fault::unknown && resource && at) {
    // The owner is unknown: if only one server has resources, it gets the request.
    std::vector<MemberFacts> facts = aggregate_.known_facts();
    std::erase_if(facts, [](const MemberFacts& one) { return !one.has("resources"); });
    if (facts.size() == 1) {
      if (auto only = aggregate_.find(facts.front().server))
        return send(only, {only->name, json::quote(target)});
    }
  }
  const std::vector<std::string> absent = aggregate_.names(AggregateUpstream::Named::absent);
  if (auto owner = owner_among(absent, routed)) return fail_later(core::not_in_service(*owner));
  // The owner may be a server that is away: then the name is not known to be unknown.
  const core::Failure* unread =
      routed.fault == Fault::unknown ? aggregate_.discovery().unread(topic) : nullptr;
  if (unread != nullptr) return fail_later(*unread);
  if (routed.fault == Fault::unknown && only_lists_tell && !absent.empty())
    return fail_later(core::not_in_service(absent.front()));
  std::string what = request_.method == Method::tools_call ? "tool" : resource ? "resource" : "prompt";
  if (request_.method == Method::tasks_get || request_.method == Method::tasks_update ||
      request_.method == Method::tasks_cancel)
    what = "task";
  answer_later(mcp::kInvalidParams,
               fmt::format("no server here has this {}: {}", what, log::Excerpt(target, 200).string()),
               resource ? fmt::format(R"({{"uri":{}}})", json::quote(target)) : std::string());
}

// A method without a name belongs to the one server that declares its capability.
void RoutedCall::go_by_capability() {
  std::vector<MemberFacts> facts = aggregate_.known_facts();
  bool all_known = facts.size() == aggregate_.members().size();
  if (!all_known && !aggregate_.discovery().is_fresh(Topic::facts, request_)) return learn(Topic::facts);
  const std::string& method = request_.message.method();
  std::vector<std::string> servers = servers_for(method, facts);
  if (servers.size() == 1) {
    if (auto member = aggregate_.find(servers.front())) return send(member, {member->name, {}});
  }
  answer_later(mcp::kMethodNotFound,
               servers.empty()
                   ? "Method not found: no server here declares it: " + log::Excerpt(method, 200).string()
                   : fmt::format("Method not found: several servers declare it ({}): {}",
                                 fmt::join(servers, ", "), log::Excerpt(method, 200).string()));
}

void RoutedCall::send(const std::shared_ptr<Member>& member, const Route& route) {
  auto text = request_for_server(request_.message, request_.method, route);
  if (!text) {
    return answer_later(mcp::kInvalidParams,
                        "this requestState was not made by the server that the request goes to",
                        R"({"reason":"foreign"})");
  }
  auto message = mcp::Message::parse(std::move(*text), json::kDepthCeiling);
  if (!message)
    return fail_later({EndReason::internal, "this request could not be routed: " + message.error().text});
  member_ = member;
  route_ = route;
  core::Scope scope = request_.scope;
  lease_ = member->sessions.enter(member, scope);
  note_routed(*message);
  if (auto refusal = member->too_large(request_.bytes_in, request_.on_stdio()))
    return fail_later(std::move(*refusal));
  note_held(message->bytes().size());
  core::UpstreamRequest request;
  request.message = std::move(*message);
  request.method = request_.method;
  request.client_era = mcp::Era::modern;
  request.scope = std::move(scope);
  request.headers = member->headers_for_it(request_.headers);
  request.sends_param_headers = request_.sends_param_headers;
  request.from = request_.from;
  request.tag = request_.tag;
  request.bytes_in = request_.bytes_in;
  auto call = member->upstream.start(std::move(request), *this);
  if (!call) return fail_later(std::move(call.error()));
  inner_ = std::move(*call);
}

void RoutedCall::note_routed(const mcp::Message& as_sent) {
  auto to = std::make_shared<core::RoutedTo>();
  to->server = &member_->server;
  to->lease = lease_;
  to->target = json::string_at(as_sent.bytes(), target_at(as_sent, request_.method));
  if (request_.method == Method::tools_call && !member_->server.tools.shown.empty()) {
    // Limits and records use the server's own name.
    if (const auto own = config::own_name(member_->server.tools, to->target)) to->target = std::string(*own);
  }
  to_ = std::move(to);
  aggregate_.loop().defer(lifetime_, [this] {
    if (live()) tell_routed();
  });
}

void RoutedCall::fail_later(core::Failure failure) {
  aggregate_.loop().defer(lifetime_, [this, failure = std::move(failure)] {
    if (live()) on_call_failed(failure);
  });
}

void RoutedCall::answer_later(int code, std::string text, std::string data) {
  aggregate_.loop().defer(lifetime_, [this, answer = mcp::error_message("0", code, text, data)] {
    if (!live()) return;
    auto message = mcp::Message::parse(answer);
    core::CallCallbacks* owner = leave();
    if (message) return owner->on_call_message(std::move(*message));
    owner->on_call_failed({EndReason::internal, "an answer could not be made"});
  });
}

// ---- from the client ----

core::CallCallbacks* RoutedCall::leave() {
  if (waiter_ != 0) aggregate_.discovery().forget(std::exchange(waiter_, 0));
  aggregate_.unparked(*this);
  return take_owner();
}

void RoutedCall::cancel(core::CancelCause why) {
  if (!live()) return;
  leave();
  if (cancel_inner(why)) return;
  metrics::upstream_stats(aggregate_.name()).cancel_settled(request_.tag, {});
}

void RoutedCall::left(const std::string& server, const std::string& why) {
  if (!live() || !member_ || member_->name != server) return;
  cancel_inner(why);
  leave()->on_call_failed({EndReason::cancelled_drain, why});
}

void RoutedCall::hand_over(core::CallCallbacks& owner, core::Handover how) {
  if (live()) how == core::Handover::parked ? aggregate_.parked(*this) : aggregate_.unparked(*this);
  PassingCall::hand_over(owner, how);
}

void RoutedCall::retried(mcp::Message request) {
  // Its requestState was made by the gateway and is useless to the server.
  json::Splice splice = request.splice();
  json::Span at = target_at(request, request_.method);
  if (at && !route_.raw.empty()) splice.replace(at, route_.raw);
  auto message = mcp::Message::parse(splice.empty() ? request.bytes() : splice.apply(), json::kDepthCeiling);
  request_.message = std::move(request);
  if (message) note_held(message->bytes().size());
  if (message && inner_ && inner_->live()) inner_->retried(std::move(*message));
}

// ---- from the server ----

Asked RoutedCall::asked() const {
  if (request_.method != Method::resources_read || route_.raw.empty()) return {request_.method, {}, {}};
  return {request_.method, json::string_value(route_.raw), request_.message.text(Field::params_uri)};
}

void RoutedCall::on_call_phase(core::CallPhase phase) {
  if (!live()) return;
  reached_server_ = phase == core::CallPhase::written;
  tell_routed();
  owner_->on_call_phase(phase);
}

void RoutedCall::on_call_repeated() {
  if (!live()) return;
  tell_routed();
  owner_->on_call_repeated();
}

void RoutedCall::on_call_message(mcp::Message&& message) {
  if (!live()) return;
  tell_routed();
  bool last = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  bool plain = message.kind() == mcp::MessageKind::notification;
  if (last) {
    if (reached_server_) aggregate_.came(*member_);  // otherwise the answer was cached
    if (auto failure = core::content_too_long(member_->server, message))
      return leave()->on_call_failed(*failure);
    if (auto text = result_for_client(aggregate_.shown(), member_->name, message, asked())) {
      auto changed = mcp::Message::parse(std::move(*text), json::kDepthCeiling);
      if (changed) message = std::move(*changed);
    }
    return leave()->on_call_message(std::move(message));
  }
  Method method = plain ? mcp::method_of(message.method()) : Method::other;
  if (plain && method == Method::resources_updated) {
    auto changed = mcp::Message::parse(notification_for_client(aggregate_.shown(), member_->name, message));
    if (changed) message = std::move(*changed);
  }
  if (message.kind() == mcp::MessageKind::request) {
    if (auto text = question_for_client(aggregate_.shown(), member_->name, message)) {
      auto changed = mcp::Message::parse(std::move(*text), json::kDepthCeiling);
      if (changed) message = std::move(*changed);
    }
  }
  owner_->on_call_message(std::move(message));
}

void RoutedCall::on_call_failed(const core::Failure& failure) {
  if (!live()) return;
  tell_routed();
  core::Failure told = failure;
  told.session_over = false;  // the member's session ended, not the client's
  leave()->on_call_failed(told);
}

}  // namespace lineward::aggregate

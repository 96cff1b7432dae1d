#include "proxy/aggregate/fanned_listen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foundation/json/json_at.h"
#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/metrics/stats.h"

namespace lineward::aggregate {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Tenths of timeouts.acknowledge: the limit for servers without known facts, and for the client's own
// acknowledgement, sent without the absent servers. A legacy server's subscriptions have seven
// (proxy/upstream/shared/own_limits.h).
constexpr int kFactsTenths = 4, kAllTenths = 8;
constexpr size_t kMaxUris = 1000;  // of one listen, and as many tasks

// Copies of a URI or task: in the filter, in its server's filter, and in both acknowledgements.
constexpr size_t kCopies = 3, kNode = 96;

bool asked_for(std::string_view filter, std::string_view name) {
  return json::member(filter, name) == "true";
}

std::string notification(std::string_view method, std::string_view members) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"{}","params":{{{}{}"_meta":{{"io.modelcontextprotocol/subscriptionId":0}}}}}})",
      method, members, members.empty() ? "" : ",");
}

std::string quoted_list(const std::vector<std::string>& raw) {
  return fmt::format("[{}]", fmt::join(raw, ","));
}

}  // namespace

FannedListen::FannedListen(AggregateUpstream& aggregate, core::UpstreamRequest request,
                           core::CallCallbacks& owner)
    : OwnedCall(&owner),
      aggregate_(aggregate),
      number_(aggregate.next_number()),
      request_(std::move(request)),
      ack_limit_(aggregate.loop()) {
  std::string_view filter = request_.message.raw(Field::params_notifications);
  tools_ = asked_for(filter, "toolsListChanged");
  prompts_ = asked_for(filter, "promptsListChanged");
  resources_ = asked_for(filter, "resourcesListChanged");
}

FannedListen::~FannedListen() {
  if (live()) cancel_alive(aggregate_.name());
}

void FannedListen::begin() {
  begun_at_ = aggregate_.loop().now();
  aggregate_.opened(*this);
  waiter_ = aggregate_.discovery().learn(Topic::facts, request_, lifetime_.guard([this] {
    if (!live()) return;
    waiter_ = 0;
    learn_uris();
  }));
  aggregate_.loop().defer(lifetime_, [this] {
    if (!live()) return;
    owner_->on_call_phase(core::CallPhase::written);
    if (live() && state_ == State::learning)
      ack_limit_.start(aggregate_.timeouts().acknowledge * kFactsTenths / 10, [this] { open_legs(); });
  });
}

// The owner of a URI may only be known from the servers' lists, as for resources/read.
void FannedListen::learn_uris() {
  const std::string& text = request_.message.bytes();
  const json::Span filter = request_.message.at(Field::params_notifications);
  size_t count = 0;
  bool only_lists_tell = false;
  json::for_each_element_at(text, json::member_at(text, filter, "resourceSubscriptions"),
                            [&](json::Span element) {
                              if (only_lists_tell || ++count > kMaxUris) return;
                              const std::string uri = json::string_at(text, element);
                              only_lists_tell = keeps_scheme(uri) && !aggregate_.shown().uris.to_server(uri);
                            });
  const bool ask = only_lists_tell && state_ == State::learning && with_resources().size() > 1 &&
                   !aggregate_.discovery().is_fresh(Topic::resources, request_);
  if (!ask) return open_legs();
  waiter_ = aggregate_.discovery().learn(Topic::resources, request_, lifetime_.guard([this] {
    if (!live()) return;
    waiter_ = 0;
    open_legs();
  }));
}

std::vector<MemberFacts> FannedListen::with_resources() const {
  std::vector<MemberFacts> facts = aggregate_.known_facts();
  std::erase_if(facts, [](const MemberFacts& one) { return !one.has("resources"); });
  return facts;
}

// Assigns each URI and task to its server.
void FannedListen::route_uris() {
  const std::string& text = request_.message.bytes();
  json::Span filter = request_.message.at(Field::params_notifications);
  // If only one server has resources, it gets the URIs of unknown owners.
  const std::vector<MemberFacts> facts = with_resources();
  held_.charge(request_.account());
  size_t count = 0;  // URIs examined: a filter may hold very many without an owner
  json::for_each_element_at(text, json::member_at(text, filter, "resourceSubscriptions"),
                            [&](json::Span element) {
                              if (++count > kMaxUris) return;
                              std::string uri = json::string_at(text, element);
                              auto target = aggregate_.shown().uris.to_server(uri);
                              if (!target && facts.size() == 1)
                                target = Uris::Target{facts.front().server, uri};
                              if (!target) return;
                              held_.add(kCopies * (target->uri.size() + uri.size() + kNode));
                              uris_[target->server][target->uri] = uri;
                            });
  count = 0;
  json::for_each_element_at(text, json::member_at(text, filter, "taskIds"), [&](json::Span element) {
    if (++count > kMaxUris) return;
    auto task = open_task(element.in(text));
    if (!task || json::validate(task->raw) != json::Fault::none) return;
    held_.add(kCopies * (task->raw.size() + kNode));
    tasks_[task->server].push_back(task->raw);
  });
}

void FannedListen::open_legs() {
  if (state_ != State::learning) return;
  if (waiter_ != 0) aggregate_.discovery().forget(std::exchange(waiter_, 0));
  route_uris();
  state_ = State::opening_legs;
  const milliseconds due = begun_at_ + aggregate_.timeouts().acknowledge * kAllTenths / 10;
  ack_limit_.start(std::max(due - aggregate_.loop().now(), milliseconds(0)), [this] { acknowledge(); });
  for (const auto& member : std::vector<std::shared_ptr<Member>>(aggregate_.members()))
    add_leg(member);
  state_ = State::waiting;
  check_acknowledged();
}

void FannedListen::add_leg(const std::shared_ptr<Member>& member) {
  if (state_ == State::learning || legs_.count(member->name) > 0 || !member->is_known()) return;
  auto leg = std::make_unique<SubscriptionLeg>(*this, member);
  leg->asked.tools = tools_ && member->may_announce(request_, "tools");
  leg->asked.prompts = prompts_ && member->may_announce(request_, "prompts");
  leg->asked.resources = resources_ && member->may_announce(request_, "resources");
  if (auto uris = uris_.find(member->name); uris != uris_.end()) leg->asked.uris = uris->second;
  if (auto tasks = tasks_.find(member->name); tasks != tasks_.end()) leg->asked.tasks = tasks->second;
  if (leg->asked.empty()) return;
  SubscriptionLeg& opened = *leg;
  legs_[member->name] = std::move(leg);
  open(opened);
}

std::string FannedListen::filter_of(const SubscriptionLeg& leg) const {
  std::string out;
  auto add = [&](std::string_view key, std::string_view raw) {
    out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", key, raw);
  };
  if (leg.asked.tools) add("toolsListChanged", "true");
  if (leg.asked.prompts) add("promptsListChanged", "true");
  if (leg.asked.resources) add("resourcesListChanged", "true");
  std::vector<std::string> uris;
  for (const auto& [own, shown] : leg.asked.uris)
    uris.push_back(json::quote(own));
  if (!uris.empty()) add("resourceSubscriptions", quoted_list(uris));
  if (!leg.asked.tasks.empty()) add("taskIds", quoted_list(leg.asked.tasks));
  return "{" + out + "}";
}

bool FannedListen::is_granted(const SubscriptionLeg& leg, const std::string& task) const {
  auto of_server = granted_tasks_.find(leg.member->name);
  return of_server != granted_tasks_.end() && of_server->second.count(task) > 0;
}

void FannedListen::narrow(SubscriptionLeg& leg) const {
  if (state_ != State::acknowledged || request_.takes_late_grants) return;
  std::erase_if(leg.asked.uris, [&](const auto& uri) { return granted_.count(uri.second) == 0; });
  std::erase_if(leg.asked.tasks,
                [&](const std::string& raw) { return !is_granted(leg, json::string_value(raw)); });
}

void FannedListen::open(SubscriptionLeg& leg) {
  narrow(leg);
  if (leg.asked.empty()) return refused(leg, "nothing is left to ask it for", true);
  core::UpstreamRequest request;
  json::Splice splice = request_.message.splice();
  splice.replace(request_.message.at(Field::params_notifications), filter_of(leg));
  auto message = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (!message) return refused(leg, "its filter makes no message", true);
  request.message = std::move(*message);
  request.method = Method::subscriptions_listen;
  request.client_era = mcp::Era::modern;
  request.scope = request_.scope;
  request.headers = leg.member->headers_for_it(request_.headers);
  request.sends_param_headers = request_.sends_param_headers;
  request.from = request_.from;
  request.bytes_in = request_.bytes_in;
  leg.lease = leg.member->sessions.enter(leg.member, request.scope);
  if (auto refusal = leg.member->too_large(request.bytes_in, request.on_stdio()))
    return refused(leg, refusal->text, true);
  aggregate_.loop().retire(std::move(leg.call));
  leg.phase = core::CallPhase::queued;
  auto call = leg.member->upstream.start(std::move(request), leg);
  if (!call) {
    down(leg);
    return lost(leg, call.error().text);
  }
  leg.call = std::move(*call);
}

// ---- from the servers ----

void FannedListen::heard(SubscriptionLeg& leg, mcp::Message message) {
  if (!live()) return;
  Method method = mcp::method_of(message.method());
  switch (message.kind()) {
    case mcp::MessageKind::request: return;
    case mcp::MessageKind::error:
      if (leg.standing.is_up()) return lost(leg, message.text(Field::error_message));
      return refused(leg, message.text(Field::error_message),
                     mcp::error_code(message) == mcp::kMethodNotFound);
    case mcp::MessageKind::result: return lost(leg, "was ended by the server");
    case mcp::MessageKind::notification: break;
  }
  if (method == Method::cancelled) return lost(leg, "was ended by the server");
  if (method == Method::subscriptions_acknowledged) return acknowledged(leg, message);
  if (!leg.standing.is_up()) return;
  leg.standing.brought();
  switch (method) {
    case Method::tools_list_changed: return server_changed(leg.asked.tools, false, false);
    case Method::prompts_list_changed: return server_changed(false, leg.asked.prompts, false);
    case Method::resources_list_changed: return server_changed(false, false, leg.asked.resources);
    case Method::resources_updated: {
      auto asked = leg.asked.uris.find(message.text(Field::params_uri));
      if (asked == leg.asked.uris.end() || granted_.count(asked->second) == 0 ||
          state_ != State::acknowledged)
        return;
      if (asked->first == asked->second) return owner_->on_call_message(std::move(message));
      json::Splice splice = message.splice();
      splice.replace(message.at(Field::params_uri), json::quote(asked->second));
      return deliver(splice.apply());
    }
    default: break;
  }
  if (state_ != State::acknowledged || message.method().rfind("notifications/tasks", 0) != 0) return;
  const bool passes = message.has(Field::params_task_id)
                          ? is_granted(leg, message.text(Field::params_task_id))
                          : granted_tasks_.count(leg.member->name) > 0;
  if (passes) deliver(notification_for_client(aggregate_.shown(), leg.member->name, message));
}

void FannedListen::acknowledged(SubscriptionLeg& leg, const mcp::Message& message) {
  const bool first = state_ != State::acknowledged;
  std::set<std::string> granted;
  leg.denied.reset();
  std::string_view grants = message.raw(Field::params_notifications);
  if (auto uris = json::member(grants, "resourceSubscriptions")) {
    for (auto& uri : mcp::string_array(*uris)) {
      auto asked = leg.asked.uris.find(uri);
      if (asked == leg.asked.uris.end()) continue;
      if (first || request_.takes_late_grants) granted_.insert(asked->second);
      granted.insert(uri);
    }
  }
  if (auto tasks = json::member(grants, "taskIds"); tasks && first) {
    const std::vector<std::string> ids = mcp::string_array(*tasks);
    const std::set<std::string> its(ids.begin(), ids.end());
    for (const std::string& raw : leg.asked.tasks) {
      if (std::string id = json::string_value(raw); its.count(id) > 0)
        granted_tasks_[leg.member->name].insert(std::move(id));
    }
  }
  leg.standing.up(aggregate_.loop().now(), std::move(granted));
  leg.is_down = false;
  leg.settled = true;
  if (first) return check_acknowledged();
  // It was acknowledged again, or after the client's acknowledgement: changes may have been missed.
  change(leg.asked.tools, leg.asked.prompts, leg.asked.resources);
  for (const std::string& uri : leg.standing.granted())
    updated(leg.asked.uris[uri]);
}

void FannedListen::again_now(SubscriptionLeg& leg) {
  leg.again.stop();
  if (leg.call && leg.call->live()) leg.call->cancel("it is opened anew");
  open(leg);
}

// Most refusals are temporary: a server that is not ready, a rate limit, a slow hook.
void FannedListen::refused(SubscriptionLeg& leg, const std::string& why, bool for_good,
                           milliseconds no_sooner) {
  log::write(log::Level::info, "aggregate.listen_refused",
             {{"upstream", leg.member->name}, {"why", log::Excerpt(why, 200)}});
  if (!for_good) return try_again(leg, no_sooner);
  leg.over = leg.settled = true;
  leg.standing.withdraw();
  aggregate_.loop().retire(std::move(leg.call));
  check_acknowledged_later();
}

// Three cases. The denied part is unknown to this client, so the whole listen is refused if not yet
// acknowledged. Or a part is dropped, and the server is listened to without it. Or the whole server is
// denied.
void FannedListen::forbidden(SubscriptionLeg& leg, const core::Failure& failure) {
  if (!live()) return;
  core::Failure told = failure;
  told.refused_parts.clear();
  for (const std::string& part : failure.refused_parts) {
    if (auto asked = leg.asked.uris.find(part); asked != leg.asked.uris.end())
      told.refused_parts.push_back(asked->second);
  }
  bool names_what_is_hidden = failure.reason == mcp::EndReason::invalid_request;
  if (names_what_is_hidden && state_ != State::acknowledged) return fail(told);
  const bool is_smaller = take_out(leg, failure.refused_parts);
  if (is_smaller && !leg.asked.empty()) {
    log::write(log::Level::info, "aggregate.listen_narrowed",
               {{"upstream", leg.member->name}, {"why", log::Excerpt(failure.text, 200)}});
    leg.standing.withdraw();
    aggregate_.loop().retire(std::move(leg.call));
    return leg.again.start(milliseconds(0), [this, &leg] { open(leg); });
  }
  told.refused_parts.clear();  // it is stored
  leg.denied = std::move(told);
  refused(leg, failure.text, is_smaller, milliseconds(failure.retry_after_ms));
}

bool FannedListen::take_out(SubscriptionLeg& leg, const std::vector<std::string>& parts) const {
  const std::set<std::string> all(parts.begin(), parts.end());
  const size_t uris =
      std::erase_if(leg.asked.uris, [&](const auto& uri) { return all.count(uri.first) > 0; });
  const size_t tasks = std::erase_if(
      leg.asked.tasks, [&](const std::string& raw) { return all.count(json::string_value(raw)) > 0; });
  return uris + tasks > 0;
}

void FannedListen::fail(const core::Failure& failure) {
  core::CallCallbacks* owner = owner_;
  cancel("a plugin refused it");
  owner->on_call_failed(failure);
}

void FannedListen::lost(SubscriptionLeg& leg, const std::string& why) {
  if (!live()) return;
  log::write(log::Level::info, "aggregate.listen_lost",
             {{"upstream", leg.member->name}, {"why", log::Excerpt(why, 200)}});
  try_again(leg, {});
}

// `no_sooner`: when another try makes sense, if known; at most the longest pause, since the value may be
// wrong.
void FannedListen::try_again(SubscriptionLeg& leg, milliseconds no_sooner) {
  leg.settled = true;
  leg.standing.down(aggregate_.loop().now());
  if (leg.call && leg.call->live()) leg.call->cancel("it was given up");
  aggregate_.loop().retire(std::move(leg.call));
  const config::Restart& restart = leg.member->server.restart;
  const milliseconds pause =
      leg.standing.pause(aggregate_.loop().now(), {restart.backoff, restart.max_backoff});
  leg.again.start(std::min(std::max(pause, no_sooner), restart.max_backoff), [this, &leg] { open(leg); });
  check_acknowledged_later();
}

// ---- to the client ----

// Deferred: the end of a leg may have been reported within start().
void FannedListen::check_acknowledged_later() {
  if (state_ == State::acknowledged) return;
  aggregate_.loop().defer(lifetime_, [this] {
    if (live()) check_acknowledged();
  });
}

void FannedListen::check_acknowledged() {
  if (state_ != State::waiting) return;
  bool open = std::any_of(legs_.begin(), legs_.end(), [](const auto& leg) { return !leg.second->settled; });
  if (open) return;
  bool none = !legs_.empty() && std::all_of(legs_.begin(), legs_.end(),
                                            [](const auto& leg) { return leg.second->denied.has_value(); });
  none ? fail(*legs_.begin()->second->denied) : acknowledge();
}

// When servers come and go the aggregate itself notifies the change, even if no server does.
bool FannedListen::may_come(bool Part::*list) const {
  const auto& members = aggregate_.members();
  if (std::any_of(members.begin(), members.end(), [](const auto& one) { return !one->facts; })) return true;
  bool is_asked = false;
  for (const auto& [name, leg] : legs_) {
    if (!(leg->asked.*list)) continue;
    if (!leg->over) return true;
    is_asked = true;
  }
  return !is_asked;
}

void FannedListen::acknowledge() {
  if (state_ == State::acknowledged || !live()) return;
  state_ = State::acknowledged;
  ack_limit_.stop();
  tools_ = tools_ && may_come(&Part::tools);
  prompts_ = prompts_ && may_come(&Part::prompts);
  resources_ = resources_ && may_come(&Part::resources);
  std::string granted;
  auto add = [&](std::string_view key, std::string_view raw) {
    granted += fmt::format("{}\"{}\":{}", granted.empty() ? "" : ",", key, raw);
  };
  if (tools_) add("toolsListChanged", "true");
  if (prompts_) add("promptsListChanged", "true");
  if (resources_) add("resourcesListChanged", "true");
  std::vector<std::string> uris;
  for (const std::string& uri : granted_)
    uris.push_back(json::quote(uri));
  if (!uris.empty()) add("resourceSubscriptions", quoted_list(uris));
  std::vector<std::string> tasks;
  for (const auto& [server, ids] : tasks_) {
    auto granted_ids = granted_tasks_.find(server);
    if (granted_ids == granted_tasks_.end()) continue;
    for (const std::string& raw : ids) {
      if (granted_ids->second.count(json::string_value(raw)) > 0) tasks.push_back(seal_task(server, raw));
    }
  }
  if (!tasks.empty()) add("taskIds", quoted_list(tasks));
  if (early_tools_ || early_prompts_ || early_resources_)
    change(early_tools_, early_prompts_, early_resources_);
  deliver(notification("notifications/subscriptions/acknowledged",
                       fmt::format(R"("notifications":{{{}}})", granted)));
}

void FannedListen::updated(const std::string& shown_uri) {
  if (live() && granted_.count(shown_uri) > 0)
    deliver(
        notification("notifications/resources/updated", fmt::format(R"("uri":{})", json::quote(shown_uri))));
}

void FannedListen::change(bool tools, bool prompts, bool resources) {
  if (state_ != State::acknowledged) return;
  changed_tools_ = changed_tools_ || (tools && tools_);
  changed_prompts_ = changed_prompts_ || (prompts && prompts_);
  changed_resources_ = changed_resources_ || (resources && resources_);
  if (std::exchange(telling_, true)) return;
  aggregate_.loop().defer(lifetime_, [this] {
    if (live()) tell_changes();
  });
}

// A client may have read the list before the slowest server has acknowledged.
void FannedListen::server_changed(bool tools, bool prompts, bool resources) {
  if (state_ == State::acknowledged) return change(tools, prompts, resources);
  early_tools_ = early_tools_ || tools;
  early_prompts_ = early_prompts_ || prompts;
  early_resources_ = early_resources_ || resources;
}

void FannedListen::tell_changes() {
  telling_ = false;
  if (std::exchange(changed_tools_, false)) deliver(notification("notifications/tools/list_changed", {}));
  if (std::exchange(changed_prompts_, false)) deliver(notification("notifications/prompts/list_changed", {}));
  if (std::exchange(changed_resources_, false))
    deliver(notification("notifications/resources/list_changed", {}));
}

// ---- servers that join and leave ----

void FannedListen::described(const std::shared_ptr<Member>& member) {
  auto leg = legs_.find(member->name);
  if (leg != legs_.end() && asks_too_little(leg->second->asked, *member))
    drop(member->name, "it has further lists now");
  came(member);
  change(true, true, true);  // a list may be gone as well
}

bool FannedListen::asks_too_little(const Part& asked, const Member& member) const {
  return (tools_ && !asked.tools && member.may_announce(request_, "tools")) ||
         (prompts_ && !asked.prompts && member.may_announce(request_, "prompts")) ||
         (resources_ && !asked.resources && member.may_announce(request_, "resources"));
}

void FannedListen::came(const std::shared_ptr<Member>& member) {
  auto leg = legs_.find(member->name);
  if (leg != legs_.end() && leg->second->member != member)
    drop(member->name, "another form of it took its place");
  add_leg(member);
  leg = legs_.find(member->name);
  if (leg != legs_.end() && leg->second->is_down && leg->second->settled) again_now(*leg->second);
  const auto& facts = member->facts;
  auto may_have = [&](std::string_view capability) {
    return facts ? facts->has(capability) : member->refused;
  };
  change(may_have("tools"), may_have("prompts"), may_have("resources"));
}

void FannedListen::left(const std::string& member) {
  drop(member, "the server is leaving");
  change(true, true, true);
}

// It may be on the stack.
void FannedListen::drop(const std::string& member, std::string_view why) {
  auto found = legs_.find(member);
  if (found == legs_.end()) return;
  std::unique_ptr<SubscriptionLeg> leg = std::move(found->second);
  legs_.erase(found);
  leg->again.stop();
  if (leg->call && leg->call->live()) leg->call->cancel(why);
  aggregate_.loop().retire(std::move(leg));
  check_acknowledged_later();
}

void FannedListen::cancel(core::CancelCause why) {
  if (!live()) return;
  owner_ = nullptr;
  ack_limit_.stop();
  if (waiter_ != 0) aggregate_.discovery().forget(std::exchange(waiter_, 0));
  aggregate_.closed(*this);
  metrics::CancelReport report;
  for (auto& [name, leg] : legs_) {
    leg->again.stop();
    if (!leg->call || !leg->call->live()) continue;
    if (leg->phase == core::CallPhase::written || leg->standing.is_up())
      report.told = metrics::CancelTold::servers_behind;
    leg->call->cancel(why);
  }
  metrics::upstream_stats(aggregate_.name()).cancel_settled(request_.tag, report);
}

}  // namespace lineward::aggregate

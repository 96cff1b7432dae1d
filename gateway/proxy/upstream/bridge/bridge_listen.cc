#include "proxy/upstream/bridge/bridge_listen.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/backoff.h"
#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "foundation/log/redaction.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/modern_server.h"
#include "protocol/mcp/rewrite.h"
#include "protocol/mcp/targets.h"
#include "proxy/metrics/limits.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

constexpr uint32_t kTries = 6;  // consecutive failures before the waiters are notified
// Each new subscription is a new listen with all URIs: their total is bounded.
constexpr size_t kMaxUriBytes = 256 * 1024;
constexpr std::string_view kNoListen = "the server cannot be listened to: ";

core::Failure refusal_of(std::string why) {
  return {mcp::EndReason::invalid_request, std::move(why)};
}

// The earliest retry by a policy or the server; −1: unknown, and tries are counted.
milliseconds no_sooner_than(const core::Failure& failure) {
  if (failure.retry_after_ms >= 0) return milliseconds(failure.retry_after_ms);
  const milliseconds after = retry_after(failure.headers);
  return after > milliseconds(0) ? after : milliseconds(-1);
}

std::string plain_notification(std::string_view method, std::string_view params) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"{}"{}{}}})", method,
                     params.empty() ? "" : R"(,"params":)", params);
}

}  // namespace

BridgeListen::BridgeListen(net::Loop& loop, core::Upstream& inner, const config::Server& server,
                           core::Scope scope, std::function<std::string(const std::string&)> make,
                           std::function<void(mcp::Message)> deliver)
    : loop_(loop),
      inner_(inner),
      server_(server),
      scope_(std::move(scope)),
      make_(std::move(make)),
      deliver_(std::move(deliver)),
      standing_(kTries),
      again_(loop) {}

BridgeListen::~BridgeListen() {
  lifetime_.end();
  stopped_ = true;
  for (auto* listen : {&next_, &current_}) {
    if (*listen && (*listen)->call && (*listen)->call->live()) (*listen)->call->cancel("the session ended");
  }
}

void BridgeListen::stop(std::string_view why) {
  stopped_ = true;
  again_.stop();
  waiters_.clear();
  drop(next_, why);
  drop(current_, why);
}

// It may be on the stack.
void BridgeListen::drop(std::unique_ptr<Listen>& listen, std::string_view why) {
  if (!listen) return;
  listen->ack_limit.stop();
  if (listen->call && listen->call->live()) listen->call->cancel(why);
  loop_.retire(std::move(listen));
}

// ---- the filter ----

void BridgeListen::want(Lists lists) {
  wish_.lists = lists;
  changed();
}

void BridgeListen::subscribe(const core::UpstreamRequest& request, const std::string& uri, Asker asker) {
  SharedText text = wish_.uris.find(uri);
  if (!text) text = shared_text(uri, account_);
  const bool is_new = !wish_.uris.contains(uri);
  if (wish_.uris.size() >= mcp::kMaxSubscriptions && is_new) {
    return tell({text, true, nullptr, std::move(asker)},
                refusal_of(fmt::format("this session has {} subscriptions already", mcp::kMaxSubscriptions)));
  }
  size_t bytes = is_new ? uri.size() : 0;
  for (const SharedText& one : wish_.uris)
    bytes += one->text().size();
  if (is_new && bytes > kMaxUriBytes) {
    return tell(
        {text, true, nullptr, std::move(asker)},
        refusal_of(fmt::format("the URIs of this session's subscriptions are longer than {} bytes together",
                               kMaxUriBytes)));
  }
  wish_.uris.insert(text);
  waiters_.push_back({std::move(text), true, as_of(request), std::move(asker)});
  changed();
}

void BridgeListen::unsubscribe(const core::UpstreamRequest& request, const std::string& uri, Asker asker) {
  SharedText text = wish_.uris.find(uri);
  if (!text) text = shared_text(uri, account_);
  wish_.uris.erase(uri);
  established_.uris.erase(uri);
  waiters_.push_back({std::move(text), false, as_of(request), std::move(asker)});
  changed();
}

void BridgeListen::withdraw(uint64_t serial) {
  auto left = std::find_if(waiters_.begin(), waiters_.end(),
                           [&](const Waiter& waiter) { return waiter.asker.serial == serial; });
  if (left == waiters_.end()) return;
  const SharedText uri = left->uri;
  const bool wanted = left->wanted;
  waiters_.erase(left);
  const bool is_needed = !wanted || established_.uris.contains(uri->text()) || is_waited_for(uri->text());
  if (is_needed) return;
  wish_.uris.erase(uri->text());
  changed();
}

bool BridgeListen::is_waited_for(const std::string& uri) const {
  return std::any_of(waiters_.begin(), waiters_.end(),
                     [&](const Waiter& waiter) { return waiter.wanted && waiter.uri->text() == uri; });
}

BridgeListen::AsPtr BridgeListen::as_of(const core::UpstreamRequest& request) {
  auto as = std::make_shared<As>();
  as->from = request.from;
  as->headers = request.headers;
  // Excludes the trace context of that one call.
  std::erase_if(as->headers, [](const auto& header) { return is_trace_header(header.first); });
  as->bytes.charge(request.account());
  as->bytes.set(as->from ? core::bytes_of(*as->from) : 0);
  return as;
}

bool BridgeListen::is_same(const AsPtr& one, const AsPtr& other) {
  return one == other || one->headers == other->headers;
}

bool BridgeListen::is_asked_by(const Listen& listen, const Waiter& waiter) {
  return waiter.wanted == listen.wish.uris.contains(waiter.uri->text());
}

// Each caller's request uses its own credentials, one after the other; additions first.
BridgeListen::AsPtr BridgeListen::next_as() const {
  auto next = std::find_if(waiters_.begin(), waiters_.end(), [&](const Waiter& waiter) {
    const std::string& uri = waiter.uri->text();
    return waiter.wanted && wish_.uris.contains(uri) && !established_.uris.contains(uri);
  });
  if (next != waiters_.end()) return next->as;
  return waiters_.empty() ? kept_ : waiters_.front().as;
}

// Excludes the additions of others: the server has to judge those with their own credentials.
BridgeListen::Wish BridgeListen::wish_of(const AsPtr& as) const {
  Wish wish = wish_;
  for (const SharedText& uri : wish_.uris) {
    if (established_.uris.contains(uri->text())) continue;
    bool mine = false, waited_for = false;
    for (const Waiter& waiter : waiters_) {
      if (!waiter.wanted || waiter.uri->text() != uri->text()) continue;
      waited_for = true;
      mine = mine || is_same(waiter.as, as);
    }
    if (waited_for && !mine) wish.uris.erase(uri->text());
  }
  return wish;
}

// Changes within one loop turn make one listen.
void BridgeListen::changed() {
  if (scheduled_ || stopped_) return;
  scheduled_ = true;
  loop_.defer(lifetime_, [this] {
    if (stopped_) return;
    scheduled_ = false;
    if (std::exchange(after_refusal_, false)) again_.stop();
    refresh();
  });
}

void BridgeListen::refresh() {
  if (stopped_ || next_ || again_.running()) return;  // refresh() runs again after it
  if (wish_.empty()) {
    drop(current_, "no client listens any more");
    standing_.withdraw();
    standing_.miss_nothing();
    return settle();
  }
  if (current_ && current_->wish == wish_) return settle();
  const AsPtr as = next_as();
  Wish wish = wish_of(as);
  std::string filter;
  auto add = [&](const std::string& member) { filter += (filter.empty() ? "" : ",") + member; };
  if (wish.lists.tools) add(R"("toolsListChanged":true)");
  if (wish.lists.prompts) add(R"("promptsListChanged":true)");
  if (wish.lists.resources) add(R"("resourcesListChanged":true)");
  std::string uris;
  for (const auto& uri : wish.uris)
    uris += (uris.empty() ? "" : ",") + json::quote(uri->text());
  if (!uris.empty()) add(R"("resourceSubscriptions":[)" + uris + "]");
  next_ = std::make_unique<Listen>(*this, std::move(wish), as);
  auto message = mcp::Message::parse(make_("{" + filter + "}"));
  if (!message) return lost(*next_, "the wishes of this session make no message", Loss::refused);
  next_->request_bytes.charge(account_);
  next_->request_bytes.set(message->bytes().size());
  core::UpstreamRequest request;
  request.message = std::move(*message);
  request.method = Method::subscriptions_listen;
  request.client_era = mcp::Era::modern;
  request.scope = scope_;
  request.headers = as->headers;
  request.from = as->from;
  request.takes_late_grants = true;
  auto call = inner_.start(std::move(request), *next_);
  if (!call) return lost(*next_, call.error());
  next_->call = std::move(*call);
}

void BridgeListen::use_request(const core::UpstreamRequest& request) {
  kept_ = as_of(request);
  account_ = request.account();
  asked();
}

void BridgeListen::asked() {
  if (std::exchange(given_up_, false)) changed();
}

// ---- from the server ----

void BridgeListen::Listen::on_call_phase(core::CallPhase phase) {
  if (!granted) listen.moved(*this, phase);
  if (phase != core::CallPhase::written || granted) return;
  const milliseconds limit = listen.server_.timeouts.acknowledge;
  ack_limit.start(limit, [this, limit] {
    metrics::limit_reached(metrics::Limit::acknowledge);
    listen.fail_waiters(
        fmt::format("it did not acknowledge within {} ms (lineward timeouts.acknowledge)", limit.count()),
        as);
    listen.lost(*this, "was not acknowledged in time (timeouts.acknowledge)", Loss::broken);
  });
}

// Waiters are notified of the phase, and may withdraw.
void BridgeListen::moved(const Listen& listen, core::CallPhase phase) {
  std::vector<std::function<void(core::CallPhase)>> told;
  for (const Waiter& waiter : waiters_) {
    if (is_asked_by(listen, waiter)) told.push_back(waiter.asker.moved);
  }
  for (const auto& tell_one : told)
    tell_one(phase);
}

void BridgeListen::heard(Listen& listen, mcp::Message message) {
  if (stopped_ || (&listen != current_.get() && &listen != next_.get())) return;
  Method method = mcp::method_of(message.method());
  if (message.kind() == mcp::MessageKind::error) {
    const bool for_good = mcp::error_code(message) == mcp::kMethodNotFound;
    return lost(listen, message.text(Field::error_message),
                listen.granted ? Loss::broken
                : for_good     ? Loss::for_good
                               : Loss::refused);
  }
  if (message.kind() == mcp::MessageKind::result || method == Method::cancelled) {
    return lost(listen, "was ended by the server", Loss::broken);
  }
  if (method == Method::subscriptions_acknowledged) return acknowledged(listen, message);
  if (!listen.granted) return;
  notify(listen, std::move(message));
}

void BridgeListen::acknowledged(Listen& listen, const mcp::Message& message) {
  listen.ack_limit.stop();
  const bool again = listen.granted.has_value();
  listen.granted.emplace();
  auto uris = json::member(message.raw(Field::params_notifications), "resourceSubscriptions");
  if (uris) {
    for (auto& uri : mcp::string_array(*uris)) {
      if (SharedText wished = listen.wish.uris.find(uri)) listen.granted->insert(std::move(wished));
    }
  }
  // The server's process was replaced and the listen reopened there: this is its second acknowledgement.
  if (again) {
    standing_.up(loop_.now());
    return tell_changes(listen.wish);
  }
  if (&listen != next_.get()) return;
  kept_ = listen.as;
  refuse_ungranted(listen);
  // A server of an aggregate that refused the additions may have refused the rest too.
  if (current_ && current_->wish == wish_) {
    drop(next_, "it was granted nothing new");
    return refresh();
  }
  drop(current_, "other wishes took its place");
  current_ = std::move(next_);
  const Wish before = std::move(established_);
  standing_.up(loop_.now(), current_->wish);
  for (const auto& uri : current_->wish.uris) {
    if (!wish_.uris.contains(uri->text())) established_.uris.erase(uri->text());
  }
  if (standing_.take_changes()) tell_changes({current_->wish.lists, before.uris});
  refresh();
}

void BridgeListen::notify(Listen& listen, mcp::Message message) {
  switch (mcp::method_of(message.method())) {
    case Method::tools_list_changed:
      if (!listen.wish.lists.tools) return;
      break;
    case Method::prompts_list_changed:
      if (!listen.wish.lists.prompts) return;
      break;
    case Method::resources_list_changed:
      if (!listen.wish.lists.resources) return;
      break;
    case Method::resources_updated: {
      const std::string uri = message.text(Field::params_uri);
      SharedText wished = wish_.uris.find(uri);
      if (!wished) return;
      if (!listen.granted->contains(uri)) listen.granted->insert(std::move(wished));  // a late grant
      break;
    }
    default: return;  // not in the filter
  }
  standing_.brought();
  auto plain = mcp::Message::parse(mcp::listen_notification_for_legacy(message));
  if (plain) deliver_(std::move(*plain));
}

void BridgeListen::went(Listen& listen, std::string_view why) {
  const bool was_current = &listen == current_.get();
  if (was_current) standing_.down(loop_.now());
  if (was_current || !current_) standing_.miss();
  drop(was_current ? current_ : next_, why);
}

void BridgeListen::tell_changes(const Wish& wish) {
  std::vector<std::string> changes;
  if (wish.lists.tools) changes.push_back(plain_notification("notifications/tools/list_changed", ""));
  if (wish.lists.prompts) changes.push_back(plain_notification("notifications/prompts/list_changed", ""));
  if (wish.lists.resources) changes.push_back(plain_notification("notifications/resources/list_changed", ""));
  for (const auto& uri : wish.uris) {
    if (!wish_.uris.contains(uri->text())) continue;
    changes.push_back(plain_notification("notifications/resources/updated", mcp::uri_params(uri->text())));
  }
  for (auto& text : changes) {
    auto message = mcp::Message::parse(std::move(text));
    if (message && !stopped_) deliver_(std::move(*message));
  }
}

BridgeListen::Loss BridgeListen::loss_of(const core::Failure& failure) {
  if (failure.tries_used_up) return Loss::used_up;
  return mcp::is_lack_of_room(failure.reason) ? Loss::at_capacity : Loss::broken;
}

// Drops the URIs named in the refusal, and keeps the rest. Each time the filter shrinks.
void BridgeListen::refused(Listen& listen, const core::Failure& failure) {
  if (stopped_ || (&listen != current_.get() && &listen != next_.get())) return;
  CountedSet over;
  for (const std::string& uri : failure.refused_parts) {
    if (SharedText wished = wish_.uris.find(uri)) over.insert(std::move(wished));
  }
  if (over.empty()) {
    // The client can react to this refusal by logging in or waiting: waiters are notified at once, as with
    // any request.
    if (mcp::is_refusal_of_client(failure.reason)) fail_waiters(failure, listen.as);
    return lost(listen, failure.text, Loss::refused, no_sooner_than(failure));
  }
  log::write(log::Level::info, "session.listen_narrowed",
             {{"upstream", server_.name}, {"why", log::Excerpt(failure.text, 200)}});
  end(over, std::string(kNoListen) + failure.text);
  went(listen, "a part of it was refused");
  changed();
}

void BridgeListen::end(const CountedSet& over, const std::string& why) {
  std::vector<Waiter> waiting;
  waiting.swap(waiters_);
  for (Waiter& waiter : waiting) {
    if (!over.contains(waiter.uri->text())) {
      waiters_.push_back(std::move(waiter));
      continue;
    }
    const bool wanted = waiter.wanted;
    tell(std::move(waiter), wanted ? std::optional(refusal_of(why)) : std::nullopt);
  }
  for (const auto& uri : over) {
    wish_.uris.erase(uri->text());
    established_.uris.erase(uri->text());
  }
}

// A waiter for a subscription that was withdrawn meanwhile is not affected.
void BridgeListen::refuse_ungranted(const Listen& listen) {
  CountedSet over;
  for (const Waiter& waiter : waiters_) {
    const std::string& uri = waiter.uri->text();
    const bool is_asked = waiter.wanted && wish_.uris.contains(uri) && listen.wish.uris.contains(uri);
    if (is_asked && !listen.granted->contains(uri)) over.insert(waiter.uri);
  }
  if (!over.empty()) end(over, "the server does not grant a subscription to this URI");
}

// `no_sooner`: when another try makes sense, if known; at most the longest pause, since the value may be
// wrong.
void BridgeListen::lost(Listen& listen, const std::string& why, Loss loss, milliseconds no_sooner) {
  if (stopped_) return;
  if (&listen != current_.get() && &listen != next_.get()) return;
  log::write(log::Level::info, "session.listen_lost",
             {{"upstream", server_.name}, {"why", log::Excerpt(why, 200)}});
  const AsPtr as = listen.as;
  went(listen, "it was given up");
  if (loss == Loss::for_good) {
    fail_waiters(why);
    wish_ = current_ ? established_ : Wish{};
    return changed();
  }
  // The previous filter may be acknowledged again without the additions.
  if (loss == Loss::refused) fail_waiters(why, as);
  // Waiters keep waiting if the server has accepted their credentials, or not seen them yet.
  const bool is_anothers = !is_same(as, kept_);
  // Each refusal removes the waiters with its credentials, so this terminates.
  if (loss == Loss::refused && (is_anothers || !waiters_.empty())) return changed();
  const bool tells_at_once = loss == Loss::refused || loss == Loss::at_capacity;
  if (tells_at_once && (wish_.empty() || (current_ && current_->wish == wish_))) return changed();
  // A known time of the next try, as of a rate limit, is treated like a lack of room.
  const bool is_told_when = loss == Loss::refused && no_sooner >= milliseconds(0);
  if (loss == Loss::used_up) standing_.use_up();
  if (loss != Loss::at_capacity && !is_told_when && !standing_.may_try_again()) {
    fail_waiters(why);
    if (!is_anothers) return give_up();
    standing_.forgive();
    return changed();
  }
  if (next_) return;  // another one is being opened
  const config::Restart& restart = server_.restart;
  const milliseconds wait =
      Backoff::doubled({restart.backoff, restart.max_backoff}, std::max(standing_.failures(), 1u) - 1);
  after_refusal_ = tells_at_once;
  again_.start(std::min<milliseconds>(std::max(wait, no_sooner), restart.max_backoff), [this] {
    after_refusal_ = false;
    refresh();
  });
}

// An open circuit states how long it is open: earlier tries would only be logged. Waiters are notified of a
// lack of room at once, as with any request.
void BridgeListen::lost(Listen& listen, const core::Failure& failure) {
  const bool counts = &listen == next_.get() && loss_of(failure) == Loss::at_capacity;
  if (counts && !stopped_) fail_waiters(failure);  // unrelated to the credentials
  lost(listen, failure.text, loss_of(failure), no_sooner_than(failure));
}

// An acknowledged listen stays.
void BridgeListen::give_up() {
  if (next_) return;
  given_up_ = true;
  log::write(log::Level::warn, "session.listen_given_up", {{"upstream", server_.name}});
}

void BridgeListen::fail_waiters(const std::string& why, const AsPtr& as) {
  fail_waiters(refusal_of(std::string(kNoListen) + why), as);
}

void BridgeListen::fail_waiters(const core::Failure& refusal, const AsPtr& as) {
  std::vector<Waiter> told;
  std::vector<Waiter> stay;
  for (Waiter& waiter : waiters_)
    (as && !is_same(waiter.as, as) ? stay : told).push_back(std::move(waiter));
  waiters_ = std::move(stay);
  for (Waiter& waiter : told) {
    const std::string& uri = waiter.uri->text();
    const bool stands = !waiter.wanted || established_.uris.contains(uri);
    if (!stands && !is_waited_for(uri)) wish_.uris.erase(uri);
    tell(std::move(waiter), stands ? std::nullopt : std::optional(refusal));
  }
}

// The refusal contains the server's text inside Lineward's own: it is redacted like all of Lineward's texts.
void BridgeListen::tell(Waiter waiter, std::optional<core::Failure> refusal) {
  if (refusal) refusal->text = redaction::apply(refusal->text);
  loop_.defer(lifetime_, [this, settled = std::move(waiter.asker.settled), refusal = std::move(refusal)] {
    if (!stopped_) settled(refusal);
  });
}

// Answers the waiters for the acknowledged filter. A refused addition gets a new listen without it.
void BridgeListen::settle() {
  if (current_) refuse_ungranted(*current_);
  if (current_ && current_->wish != wish_) return changed();
  std::vector<Waiter> waiting;
  waiting.swap(waiters_);
  for (Waiter& waiter : waiting)
    tell(std::move(waiter), std::nullopt);
}

}  // namespace lineward::upstream

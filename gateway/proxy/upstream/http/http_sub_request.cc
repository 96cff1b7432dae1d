#include "proxy/upstream/http/http_sub_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

constexpr size_t kMaxSubRequests = 4096;
// Bytes of their bodies: clients' notifications may be as large as requests, and cost their clients no wait.
// A small message, such as a cancel, is always sent.
constexpr size_t kMaxBytes = 16u << 20;
constexpr size_t kSmall = 16u << 10;
// How long the last message of a session waits for earlier ones.
constexpr std::chrono::milliseconds kLastWaits{2000};

}  // namespace

HttpSubRequest::HttpSubRequest(HttpSubRequests& owner, SubRequestPlan plan)
    : owner_(owner), bytes_(plan.request.body.size()), plan_(std::move(plan)), limit_(owner.loop_) {
  if (owner_.is_awaited(plan_)) {
    limit_.start(kLastWaits, [this] { start(); });
  } else {
    start();
  }
}

void HttpSubRequest::start() {
  OriginSet& origins = owner_.origins_;
  const bool may_move = plan_.origin.get() == nullptr && origins.are_several();
  Origin& origin = plan_.origin.get() != nullptr ? *plan_.origin.get() : origins.any();
  if (may_move) tried_ |= origin.bit();
  HttpRequest request = may_move ? plan_.request : std::move(plan_.request);
  send_to(origin, std::move(request));
  limit_.start(plan_.limit, [this] { ran_out(); });
}

void HttpSubRequest::send_to(Origin& origin, HttpRequest&& request) {
  if (plan_.went) plan_.went->take(origin, OriginUse::As::other);
  messages_ =
      std::make_unique<HttpMessages>(origin.pool(), std::move(request), owner_.max_message_bytes_, *this);
}

// True: another origin gets it now, within the same limit, since the first got not a byte of it.
bool HttpSubRequest::send_elsewhere(const MessagesEnd& end) {
  if (tried_ == 0 || end.kind != MessagesEnd::Kind::failed || !end.fault.nothing_sent) return false;
  Origin* origin = owner_.origins_.another(tried_);
  if (origin == nullptr) return false;
  tried_ |= origin->bit();
  owner_.loop_.retire(std::move(messages_));
  send_to(*origin, HttpRequest(plan_.request));
  return true;
}

void HttpSubRequest::ran_out() {
  const bool was_sent = messages_ == nullptr || messages_->sent();
  std::string named = plan_.option.empty() ? std::string() : fmt::format(" (lineward {})", plan_.option);
  const MessagesEnd late{
      .kind = MessagesEnd::Kind::failed,
      .status = messages_ ? messages_->status() : kAccepted,
      .fault = {.reason = mcp::EndReason::timeout_startup,
                .text = fmt::format("did not answer within {} ms{}", plan_.limit.count(), named),
                .nothing_sent = !was_sent},
      .held_back = messages_ && messages_->is_held_back()};
  auto tell = std::exchange(plan_.late, nullptr);
  if (!tell || !was_sent) {
    if (messages_) messages_->close();
    return finish(std::move(answer_), late);
  }
  limit_.start(kCancelThenClose, [this] {
    if (messages_) messages_->close();
    finish(std::nullopt, {});
  });
  auto done = std::exchange(plan_.done, nullptr);
  plan_.other = nullptr;
  tell();
  if (done) done(std::nullopt, late);
}

void HttpSubRequest::drop() {
  limit_.stop();
  if (messages_) messages_->close();
  owner_.loop_.retire(std::move(messages_));
  plan_ = {};
}

void HttpSubRequest::on_messages_drained(HttpMessages&) {
  if (auto drained = std::exchange(plan_.drained, nullptr)) drained();
}

void HttpSubRequest::on_messages_open(HttpMessages&, const http::ResponseInfo& info) {
  if (plan_.opened) plan_.opened(info);
}

void HttpSubRequest::on_message(HttpMessages& from, mcp::Message&& message) {
  bool response = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (!response) {
    if (plan_.other) plan_.other(std::move(message));
    return;
  }
  if (plan_.id == 0) return from.distrust();
  if (answer_) return;
  bool named = message.has(mcp::Field::id) && message.raw(mcp::Field::id) != "null";
  if (named && own_id(message.raw(mcp::Field::id)) != plan_.id) return from.distrust();
  answer_ = std::move(message);
  if (!from.is_stream()) return;  // its end follows at once
  from.finish_quietly();
  finish(std::move(answer_), {.status = from.status(), .is_stream = true});
}

void HttpSubRequest::on_no_message(HttpMessages& from, const mcp::MessageFault& fault) {
  if (plan_.id == 0 || answer_ || !HttpMessages::is_broken_answer(fault, plan_.id)) return;
  from.close();
  finish(std::nullopt, {.kind = MessagesEnd::Kind::failed,
                        .status = from.status(),
                        .fault = {mcp::EndReason::upstream_protocol, "sent a broken answer: " + fault.text}});
}

void HttpSubRequest::on_messages_end(HttpMessages&, const MessagesEnd& end) {
  if (send_elsewhere(end)) return;
  const bool accepted = end.kind == MessagesEnd::Kind::complete && end.status == kAccepted;
  if (accepted && plan_.answered_elsewhere && plan_.done && !answer_) {
    owner_.loop_.retire(std::move(messages_));
    return;  // the limit still applies
  }
  finish(std::move(answer_), end);
}

void HttpSubRequest::finish(std::optional<mcp::Message> answer, const MessagesEnd& end) {
  limit_.stop();
  auto drained = std::exchange(plan_.drained, nullptr);
  auto done = std::exchange(plan_.done, nullptr);
  owner_.over(*this);  // freed at the end of the turn
  if (drained) drained();
  if (done) done(std::move(answer), end);
}

void HttpSubRequests::run(SubRequestPlan plan) {
  const size_t bytes = plan.request.body.size();
  const bool fits = bytes <= kSmall || sub_requests_.empty() || bytes_ + bytes <= kMaxBytes;
  if (sub_requests_.size() < kMaxSubRequests && fits) {
    bytes_ += bytes;
    sub_requests_.push_back(std::make_unique<HttpSubRequest>(*this, std::move(plan)));
    return;
  }
  loop_.defer([plan = std::move(plan)] {
    const MessagesEnd refusal{.kind = MessagesEnd::Kind::failed,
                              .fault = {.reason = mcp::EndReason::queue_full,
                                        .text = "has too many requests under way",
                                        .nothing_sent = true}};
    if (plan.drained) plan.drained();
    if (plan.done) plan.done(std::nullopt, refusal);
  });
}

bool HttpSubRequests::take_answer(uint64_t session, mcp::Message& message) {
  const auto id = message.has(mcp::Field::id) ? own_id(message.raw(mcp::Field::id)) : std::nullopt;
  if (!id) return false;
  auto found = std::find_if(sub_requests_.begin(), sub_requests_.end(), [&](const auto& one) {
    return one->plan_.session == session && one->plan_.id == *id && one->plan_.done;
  });
  if (found == sub_requests_.end()) return false;
  HttpSubRequest& one = **found;
  if (one.messages_) one.messages_->close();
  one.finish(std::move(message), {.status = 200, .is_stream = true});
  return true;
}

// Whether another message of its session is in progress.
bool HttpSubRequests::is_awaited(const SubRequestPlan& last) const {
  return last.is_last && std::any_of(sub_requests_.begin(), sub_requests_.end(), [&](const auto& other) {
           return other->plan_.session == last.session && !other->plan_.is_last;
         });
}

void HttpSubRequests::over(HttpSubRequest& one) {
  auto found = std::find_if(sub_requests_.begin(), sub_requests_.end(),
                            [&](const auto& each) { return each.get() == &one; });
  if (found == sub_requests_.end()) return;
  bytes_ -= one.bytes_;
  const uint64_t session = one.plan_.session;
  loop_.retire(std::move(*found));
  sub_requests_.erase(found);
  if (session != 0) {
    for (auto& other : sub_requests_) {
      if (other->plan_.session != session || !other->plan_.is_last || other->messages_ ||
          is_awaited(other->plan_))
        continue;
      other->start();
      break;
    }
  }
  if (sub_requests_.empty() && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

void HttpSubRequests::drop_all() {
  std::vector<std::unique_ptr<HttpSubRequest>> all;
  all.swap(sub_requests_);
  bytes_ = 0;
  for (auto& one : all) {
    one->drop();
    loop_.retire(std::move(one));
  }
  if (empty_) loop_.defer(std::exchange(empty_, nullptr));
}

void HttpSubRequests::when_empty(std::function<void()> empty) {
  empty_ = std::move(empty);
  if (sub_requests_.empty() && empty_) loop_.defer(std::exchange(empty_, nullptr));
}

}  // namespace lineward::upstream

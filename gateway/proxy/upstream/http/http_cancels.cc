#include "proxy/upstream/http/http_cancels.h"

#include <algorithm>
#include <utility>

#include "foundation/log/log.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/shared/own_id.h"
#include "proxy/upstream/shared/server_era.h"

namespace lineward::upstream {
namespace {

using metrics::CancelOutcome;
using metrics::CancelTold;
using std::chrono::milliseconds;
using Means = LeftCall::Means;

bool is_answer(const mcp::Message& message) {
  return message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
}

}  // namespace

class HttpCancels::PendingCancel final : public MessagesCallbacks {
 public:
  PendingCancel(HttpCancels& its_cancels, LeftCall its_call)
      : cancels(its_cancels),
        call(std::move(its_call)),
        since(cancels.loop_.now()),
        limit(cancels.loop_),
        grace(cancels.loop_) {
    if (call.messages) call.messages->set_owner(*this);
  }

  void on_message(HttpMessages& from, mcp::Message&& message) override {
    if (!is_answer(message)) return;
    auto id = message.has(mcp::Field::id) ? own_id(message.raw(mcp::Field::id)) : std::nullopt;
    if (id && *id != call.id) return from.distrust();
    heard(message);
  }
  void on_messages_end(HttpMessages&, const MessagesEnd&) override {
    cancels.loop_.retire(std::move(call.messages));
    if (told == CancelTold::not_sent) return;  // handled at the end of the turn
    cancels.over(*this);
  }

  void heard(const mcp::Message& answer) {
    std::string params = call.may_be_task ? mcp::cancel_of_task(answer) : std::string();
    if (SessionGroup* group = params.empty() ? nullptr : cancels.groups_.find(call.group))
      if (group->session()) group->session()->send_own("tasks/cancel", params, nullptr);
    // While waiting to learn of a task, an answer that was already in transit does not end it.
    const bool ends = told == CancelTold::not_sent || call.means == Means::keep || !params.empty();
    if (!ends) return;
    cancels.settle(*this, params.empty() ? CancelOutcome::raced : CancelOutcome::stopped);
    cancels.over(*this, Close::quietly);
  }

  HttpCancels& cancels;
  LeftCall call;
  const milliseconds since;
  CancelTold told = CancelTold::not_sent;
  bool settled = false;
  net::Timer limit, grace;
};

HttpCancels::HttpCancels(const HttpParts& parts)
    : loop_(parts.loop),
      server_(parts.server),
      groups_(parts.groups),
      era_(parts.era),
      stats_(metrics::upstream_stats(parts.server.name)),
      tell_later_(
          parts.loop, [](void* self) { static_cast<HttpCancels*>(self)->tell_now(); }, this) {}

HttpCancels::~HttpCancels() {
  lifetime_.end();
  for (auto& pending : cancels_) {
    if (pending->call.messages) pending->call.messages->close();
  }
}

void HttpCancels::take(LeftCall call) {
  untold_.push_back(call.id);
  cancels_.push_back(std::make_unique<PendingCancel>(*this, std::move(call)));
  tell_later_.schedule();
}

HttpCancels::PendingCancel* HttpCancels::find(int64_t id) {
  // Usually one of the last.
  auto found = std::find_if(cancels_.rbegin(), cancels_.rend(),
                            [&](const auto& pending) { return pending->call.id == id; });
  return found == cancels_.rend() ? nullptr : found->get();
}

bool HttpCancels::answered(const mcp::Message& answer, int64_t id) {
  PendingCancel* pending = cancels_.empty() ? nullptr : find(id);
  if (pending == nullptr) return false;
  pending->heard(answer);
  return true;
}

void HttpCancels::tell_now() {
  std::vector<int64_t> untold;
  untold.swap(untold_);
  for (int64_t id : untold) {
    if (PendingCancel* pending = find(id)) tell(*pending);
  }
}

void HttpCancels::tell(PendingCancel& pending) {
  LeftCall& call = pending.call;
  if (call.means == Means::keep) {
    pending.told = CancelTold::nothing;
    ++kept_;
    if (!call.messages) {
      settle(pending, CancelOutcome::raced);  // its stream ended just now
      return over(pending);
    }
    refuse(call);
    call.messages->resume();
    // Clients that keep reconnecting must not overload the server.
    if (kept_ > server_.limits.max_in_flight) {
      for (auto& oldest : cancels_) {
        if (oldest->call.means != Means::keep || oldest->told == CancelTold::not_sent) continue;
        settle(*oldest, CancelOutcome::ignored);
        over(*oldest);
        break;
      }
    }
    pending.limit.start(call.at_most, [this, &pending] {
      settle(pending, CancelOutcome::ignored);
      over(pending);
    });
    pending.grace.start(server_.timeouts.cancel_grace,
                        [this, &pending] { settle(pending, CancelOutcome::ignored); });
    return;
  }
  log::write(log::Level::debug, "call.cancel",
             {{"upstream", server_.name}, {"upstream_id", call.id}, {"why", call.why}});
  if (call.means == Means::close) {
    pending.told = CancelTold::stream_closed;
    settle(pending, CancelOutcome::stopped);
    return over(pending);
  }
  pending.told = CancelTold::notification;
  if (!call.messages) {
    post(call, mcp::cancel_notification(call.id, call.why, mcp::Era::legacy), nullptr);
    return over(pending);
  }
  auto closes = lifetime_.guard([this, id = call.id] {
    PendingCancel* its = find(id);
    if (its == nullptr) return;
    settle(*its, CancelOutcome::stopped);
    over(*its);
  });
  pending.limit.start(call.may_be_task ? server_.timeouts.cancel_grace : kCancelThenClose, closes);
  // If the call becomes a task after all, only its answer contains the task id. A Lineward ends the stream
  // itself; there the close could overtake the notification, which has the reason.
  std::function<void()> sent;
  if (!call.may_be_task && !era_.is_certain()) sent = closes;
  if (!post(call, mcp::cancel_notification(call.id, call.why, mcp::Era::legacy), std::move(sent))) {
    closes();
  } else {
    refuse(call);
  }
}

bool HttpCancels::post(const LeftCall& call, std::string message, std::function<void()> sent) {
  SessionGroup* group = groups_.find(call.group);
  if (group == nullptr || !group->is_ready()) return false;
  group->session()->post(std::move(message), call.forwarded ? &*call.forwarded : nullptr, std::move(sent),
                         call.origin.get());
  return true;
}

void HttpCancels::refuse(LeftCall& call) {
  for (std::string& refusal : std::exchange(call.refusals, {}))
    post(call, std::move(refusal), nullptr);
}

void HttpCancels::settle(PendingCancel& pending, CancelOutcome outcome) {
  if (std::exchange(pending.settled, true)) return;
  metrics::CancelReport report{outcome, pending.told, loop_.now() - pending.since};
  if (pending.told == CancelTold::not_sent) report.told = CancelTold::nothing;
  stats_.cancel_settled(pending.call.tag, report);
}

void HttpCancels::over(PendingCancel& pending, Close how) {
  auto found =
      std::find_if(cancels_.begin(), cancels_.end(), [&](const auto& one) { return one.get() == &pending; });
  if (found == cancels_.end()) return;
  settle(pending, CancelOutcome::stopped);
  if (pending.call.means == Means::keep && pending.told != CancelTold::not_sent) --kept_;
  refuse(pending.call);
  pending.limit.stop();
  pending.grace.stop();
  if (pending.call.messages) {
    how == Close::quietly ? pending.call.messages->finish_quietly() : pending.call.messages->close();
    loop_.retire(std::move(pending.call.messages));
  }
  loop_.retire(std::move(*found));  // it may be on the stack
  cancels_.erase(found);
}

void HttpCancels::close_kept() {
  tell_now();
  std::vector<int64_t> kept;
  for (const auto& pending : cancels_) {
    if (pending->call.means == Means::keep) kept.push_back(pending->call.id);
  }
  for (int64_t id : kept) {
    if (PendingCancel* pending = find(id)) over(*pending);
  }
}

}  // namespace lineward::upstream

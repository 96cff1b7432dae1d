// Which call each message of a server belongs to, and what becomes of those that belong to none: the other
// half of upstream/stdio_instance.h.
#include <fmt/format.h>

#include "base/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"
#include "upstream/own_id.h"
#include "upstream/stdio_instance.h"

namespace lineward::upstream {

using mcp::Field;
using mcp::Method;

void StdioInstance::on_process_line(json::Text line) {
  if (line.bytes.find_first_not_of(" \t") == std::string::npos) return;
  auto message = mcp::Message::parse(std::move(line));
  if (!message) return broken_line(message.error());
  last_used_ = loop_.now();
  switch (message->kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return on_response(std::move(*message));
    case mcp::MessageKind::request: return on_request(std::move(*message));
    case mcp::MessageKind::notification: return on_notification(std::move(*message));
  }
}

void StdioInstance::drop(std::string_view kind) {
  if (kind == "unknown_id") stats_.message_error(core::MessageError::unknown_id);
  log::write(log::Level::info, "upstream.dropped", {{"upstream", server_.name}, {"kind", std::string(kind)}});
}

// A line that is no message. Banners are skipped; what was meant as an answer must not leave its caller
// waiting.
void StdioInstance::broken_line(const mcp::MessageFault& fault) {
  const std::string& line = fault.bytes;
  if (server_.stdout_mode == config::StdoutMode::strict) {
    return stop({mcp::EndReason::upstream_protocol, "wrote a line that is no message (stdout: strict)", {}});
  }
  if (fault.kind == mcp::MessageFault::Kind::batch) {
    auto elements = mcp::batch_elements(line);
    for (auto& element : elements) {
      if (state_ != State::down) on_process_line(json::Text{std::move(element), nullptr});
    }
    if (!elements.empty()) return;
  }
  stats_.message_error(fault);
  if (fault.meant != mcp::MessageFault::Meant::unknown) return refuse_malformed(fault);
  mcp::Salvage found = mcp::salvage(line);
  std::vector<int64_t> meant;
  for (const auto& raw_id : found.raw_ids) {
    auto entry = find(raw_id);
    if (entry != pending_.end()) meant.push_back(entry->first);
  }
  if (found.raw_ids.empty() && found.looks_like_message) {
    if (StdioCall* only = only_call()) meant.push_back(only->id);
  }
  if (meant.empty()) return drop("not_json");
  for (int64_t id : meant)
    fail_broken(id, fault.text);
  if (state_ != State::down) owner_->on_instance_free(*this);
}

// It names a method, so it answers nobody.
void StdioInstance::refuse_malformed(const mcp::MessageFault& fault) {
  drop("malformed");
  if (!fault.raw_id.empty())
    answer_server(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
}

void StdioInstance::fail_broken(int64_t id, const std::string& why) {
  auto entry = pending_.find(id);
  if (entry == pending_.end()) return;
  StdioCall* call = entry->second.call;
  bool handshake = entry->second.own_initialize;
  bool discover = entry->second.own_discover;
  settle(entry->second, core::CancelOutcome::raced);
  note_end(entry->second);
  forget(entry);
  if (handshake)
    return stop({mcp::EndReason::upstream_protocol, "answered initialize with a broken message", {}});
  if (discover) return became_ready();
  if (call == nullptr) return;
  call->instance = nullptr;
  call->fail(
      {mcp::EndReason::upstream_protocol, fmt::format("{} sent a broken answer: {}", server_.name, why)});
}

StdioInstance::Table::iterator StdioInstance::find(std::string_view raw_id) {
  auto id = own_id(raw_id);
  return id ? pending_.find(*id) : pending_.end();
}

StdioCall* StdioInstance::only_call() const {
  StdioCall* only = nullptr;
  for (const auto& [id, entry] : pending_) {
    if (entry.listen || entry.own) continue;
    if (entry.call == nullptr || only != nullptr) return nullptr;  // a cancelled one may still be worked on
    only = entry.call;
  }
  return only;
}

// The call that a message without a name belongs to: only one that no other can be meant beside
// (behaviour.md 13).
StdioCall* StdioInstance::owner_of_unnamed() const {
  return loop_.now() < answered_until_ ? nullptr : only_call();
}

// A server may have more to say about a call than its answer, and say it afterwards.
void StdioInstance::note_end(const Pending& pending) {
  if (pending.own || pending.listen || pending.of_gateway) return;
  answered_until_ = loop_.now() + server_.timeouts.cancel_grace;
  if (!pending.asks) return;
  asked_until_ = answered_until_;
  unsettled_ = true;
}

size_t StdioInstance::asking() const {
  size_t count = 0;
  for (const auto& [id, entry] : pending_)
    count += entry.asks ? 1 : 0;
  return count;
}

StdioCall* StdioInstance::asking_call() const {
  StdioCall* only = nullptr;
  for (const auto& [id, entry] : pending_) {
    if (!entry.asks) continue;
    if (only != nullptr || entry.call == nullptr) return nullptr;
    only = entry.call;
  }
  return only;
}

void StdioInstance::set_parked(const StdioCall& call, bool parked) {
  auto entry = pending_.find(call.id);
  if (entry == pending_.end() || entry->second.counts == !parked) return;
  entry->second.counts = !parked;
  count(parked ? -1 : 1);
}

void StdioInstance::on_response(mcp::Message message) {
  auto entry = message.has(Field::id) ? find(message.raw(Field::id)) : pending_.end();
  if (entry == pending_.end()) {
    bool names_nothing = !message.has(Field::id) || message.raw(Field::id) == "null";
    if (names_nothing && server_.stdout_mode == config::StdoutMode::strict) {
      return stop(
          {mcp::EndReason::upstream_protocol, "sent an error that names no request (stdout: strict)", {}});
    }
    return drop("unknown_id");
  }
  Pending pending = std::move(entry->second);
  forget(entry);
  note_answer(pending.call != nullptr && pending.call->request.method != Method::initialize);
  note_end(pending);
  has_served_ = has_served_ || pending.asks;
  if (pending.own_initialize) return handshake_answer(message);
  if (pending.own_discover) return became_ready();  // whatever it says: it is there
  if (pending.call != nullptr) {
    StdioCall* call = pending.call;
    call->instance = nullptr;
    refuse_open(call->open_questions.refuse());
    if (state_ == State::handshake && call->request.method == Method::initialize) {
      if (message.kind() == mcp::MessageKind::result) {
        state_ = State::ready;
        was_ready_ = true;
        revision_ = message.text(Field::result_protocol_version);
        count_start();
        startup_timer_.stop();
      }
      owner_->on_instance_initialized(*this, message);
      call->phase(core::CallPhase::written);  // its start is over
    }
    if (call->crosses_eras()) {
      auto modern =
          mcp::Message::parse(mcp::legacy_answer_for_modern(message, call->request.method, legacy_server_));
      if (modern) message = std::move(*modern);
    }
    call->answer(std::move(message));
  } else if (pending.own_answer) {
    pending.own_answer(message);
  } else if (pending.due.count() == 0) {  // else one of our own, whose answer nobody waits for
    late_answer(pending, message);
  }
  owner_->on_instance_free(*this);
}

void StdioInstance::note_answer(bool of_call) {
  if (!std::exchange(has_answered_, true)) owner_->on_instance_answered(*this, of_call);
}

// An error, a result that says so, and the result of a listen are how servers say that they stopped.
void StdioInstance::late_answer(const Pending& pending, const mcp::Message& message) {
  bool stopped = pending.listen || message.kind() == mcp::MessageKind::error ||
                 message.raw(Field::result_is_error) == "true";
  ++stats_.late_responses;
  settle(pending, stopped ? core::CancelOutcome::stopped : core::CancelOutcome::raced);
  if (auto params = mcp::cancel_of_task(message); !params.empty() && plan_.era == mcp::Era::legacy)
    send_own("tasks/cancel", params);
  log::write(log::Level::debug, "upstream.late_response", {{"upstream", server_.name}});
}

void StdioInstance::refuse_open(std::vector<std::string> refusals) {
  for (std::string& refusal : refusals)
    write_small(std::move(refusal));
}

void StdioInstance::answer_server(std::string message) {
  if (write_small(std::move(message))) return;
  stop({mcp::EndReason::upstream_protocol, "asks on and on and does not read the answers", {}});
}

void StdioInstance::on_request(mcp::Message message) {
  if (message.method() == "ping") {
    return answer_server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  if (plan_.era == mcp::Era::modern) {
    // 2026-07-28 stdio forbids it; an answer keeps the server from waiting for ever.
    drop("server_request");
    return answer_server(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                            "servers of this revision do not send requests"));
  }
  StdioCall* only = owner_of_unnamed();
  owner_->on_instance_message(*this, std::move(message), only);
}

namespace {

bool is_of_listens(const mcp::Message& message) {
  switch (mcp::method_of(message.method())) {
    case Method::subscriptions_acknowledged:
    case Method::resources_updated:
    case Method::tools_list_changed:
    case Method::prompts_list_changed:
    case Method::resources_list_changed: return true;
    default: return message.method().rfind("notifications/tasks", 0) == 0;
  }
}

}  // namespace

// It says what has changed and not on which listen: on any that was granted it. An acknowledgement can only
// be that of the one listen that waits for one.
void StdioInstance::on_nameless(const mcp::Message& message) {
  bool acknowledges = mcp::method_of(message.method()) == Method::subscriptions_acknowledged;
  std::vector<int64_t> to;
  for (const auto& [id, entry] : pending_) {
    if (entry.listen && entry.call != nullptr && entry.acknowledged != acknowledges) to.push_back(id);
  }
  if (to.empty() || (acknowledges && to.size() > 1)) return drop("unscoped");
  note_answer(true);
  for (int64_t id : to) {
    auto entry = pending_.find(id);  // a client may leave whenever one is told something
    if (entry == pending_.end() || entry->second.call == nullptr) continue;
    entry->second.acknowledged = true;
    entry->second.call->message(message);
  }
}

void StdioInstance::on_notification(mcp::Message message) {
  Method method = mcp::method_of(message.method());
  auto deliver = [&](std::string_view raw, bool listens, auto id_of) -> bool {
    auto id = id_of(raw);
    auto entry = id ? pending_.find(*id) : pending_.end();
    if (entry == pending_.end() || entry->second.call == nullptr || entry->second.listen != listens)
      return false;
    if (listens) note_answer(true);
    if (method == Method::subscriptions_acknowledged) entry->second.acknowledged = true;
    entry->second.call->message(std::move(message));
    return true;
  };
  if (method == Method::progress) {
    if (deliver(message.raw(Field::params_progress_token), false, own_id)) return;
    // In a session it may be that of a task, whose call was answered long ago.
    if (plan_.era == mcp::Era::modern || message.raw(Field::params_progress_token).empty())
      return drop("unknown_token");
    return owner_->on_instance_message(*this, std::move(message), nullptr);
  }
  if (plan_.era == mcp::Era::modern && !message.has(Field::meta_subscription_id) && is_of_listens(message))
    return on_nameless(message);
  if (method == Method::cancelled && plan_.era == mcp::Era::modern) {
    // A server tears a listen down; it may name it in either form. For the server it is over: no cancel is
    // owed.
    auto id = own_subscription_id(message.raw(Field::params_request_id));
    auto entry = id ? pending_.find(*id) : pending_.end();
    if (entry == pending_.end() || !entry->second.listen) return drop("unknown_id");
    StdioCall* call = entry->second.call;
    forget(entry);
    if (call == nullptr) return;
    call->instance = nullptr;
    return call->answer(std::move(message));
  }
  if (message.has(Field::meta_subscription_id)) {
    if (!deliver(message.raw(Field::meta_subscription_id), true, own_subscription_id))
      drop("unknown_subscription");
    return;
  }
  if (plan_.era == mcp::Era::modern) {
    // Unscoped: it can only belong to the one call there is, if that call asked for such messages at all.
    // What a modern server says about a request it says before the answer (2026-07-28).
    StdioCall* only = only_call();
    if (only != nullptr && method == Method::message && only->request.message.has(Field::meta_log_level)) {
      return only->message(std::move(message));
    }
    return drop("unscoped");
  }
  StdioCall* only = owner_of_unnamed();
  owner_->on_instance_message(*this, std::move(message), only);
}

namespace {

// What who waits for an answer to one of Lineward's own requests hears when there will be none.
mcp::Message no_own_answer() {
  return std::move(*mcp::Message::parse(mcp::error_message("0", mcp::kInternalError, "no answer in time")));
}

}  // namespace

void StdioInstance::limit_own(std::chrono::milliseconds limit) {
  const std::chrono::milliseconds due = loop_.now() + limit;
  if (own_timer_.running() && own_rings_at_ <= due) return;
  own_rings_at_ = due;
  own_timer_.start(limit, [this] { cancel_own(); });
}

// Those that took too long are cancelled like any client's; their ids are remembered for a late answer.
void StdioInstance::cancel_own() {
  std::vector<int64_t> late;
  std::chrono::milliseconds next{0};
  for (const auto& [id, entry] : pending_) {
    if (entry.due.count() == 0) continue;
    if (entry.due <= loop_.now()) {
      late.push_back(id);
    } else if (next.count() == 0 || entry.due < next) {
      next = entry.due;
    }
  }
  if (next.count() > 0) limit_own(next - loop_.now());
  for (int64_t id : late) {
    auto entry = pending_.find(id);
    if (entry == pending_.end()) continue;
    entry->second.due = std::chrono::milliseconds(0);
    OwnAnswer answered = std::exchange(entry->second.own_answer, nullptr);
    log::write(log::Level::info, "upstream.own_request_late",
               {{"upstream", server_.name}, {"upstream_id", id}});
    if (server_.cancel != config::CancelMode::never)
      write(mcp::cancel_notification(id, "it took too long", plan_.era));
    remember_cancelled(id);
    if (answered) answered(no_own_answer());
  }
  if (!late.empty()) owner_->on_instance_free(*this);
}

}  // namespace lineward::upstream

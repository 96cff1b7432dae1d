#include "upstream/stdio/instance_inbox.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "log/log.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"
#include "upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

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

void InstanceInbox::read(json::Text line) {
  if (line.bytes.find_first_not_of(" \t") == std::string::npos) return calls_.note_useless();
  auto message = mcp::Message::parse(std::move(line));
  if (!message) return broken_line(message.error());
  owner_.on_message();
  switch (message->kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return response(std::move(*message));
    case mcp::MessageKind::request: return request(std::move(*message));
    case mcp::MessageKind::notification: return notification(std::move(*message));
  }
}

void InstanceInbox::drop(std::string_view kind) {
  if (kind == "unknown_id") stats_.message_error(core::MessageError::unknown_id);
  log::write(log::Level::info, "upstream.dropped", {{"upstream", server_.name}, {"kind", std::string(kind)}});
  calls_.note_useless();
}

// A line that is no message. Banners are skipped; what was meant as an answer must not leave its caller
// waiting.
void InstanceInbox::broken_line(const mcp::MessageFault& fault) {
  const std::string& line = fault.bytes;
  if (server_.stdout_mode == config::StdoutMode::strict) {
    return wire_.stop(
        {mcp::EndReason::upstream_protocol, "wrote a line that is no message (stdout: strict)", {}});
  }
  std::string why = fault.text;
  if (fault.kind == mcp::MessageFault::Kind::batch) {
    auto elements = mcp::batch_elements(line);
    const bool too_many = elements.size() > mcp::kMaxInBatch;
    for (auto& element : elements) {
      if (!too_many && !owner_.is_down()) read(json::Text{std::move(element), nullptr});
    }
    if (!elements.empty() && !too_many) return;
    if (too_many) why = mcp::too_many_in_batch();
  }
  stats_.message_error(fault);
  if (fault.names_method()) return refuse_malformed(fault);
  mcp::RecoveredIds found = mcp::recover_ids(line);
  std::vector<int64_t> meant;
  for (const auto& raw_id : found.raw_ids) {
    if (PendingCall* entry = calls_.named(raw_id)) meant.push_back(entry->id);
  }
  if (found.raw_ids.empty() && found.looks_like_message) {
    if (StdioCall* only = calls_.only_call()) meant.push_back(only->id);
  }
  if (meant.empty()) return drop("not_json");
  for (int64_t id : meant) {
    if (PendingCall* entry = calls_.find(id)) owner_.on_broken_answer(calls_.take(*entry), why);
  }
  if (!owner_.is_down()) wire_.tell_free();
}

// It names a method, so it answers nobody.
void InstanceInbox::refuse_malformed(const mcp::MessageFault& fault) {
  drop("malformed");
  if (!fault.raw_id.empty())
    wire_.answer_server(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
}

void InstanceInbox::response(mcp::Message&& message) {
  PendingCall* entry = message.has(Field::id) ? calls_.named(message.raw(Field::id)) : nullptr;
  if (entry != nullptr) return owner_.on_answer(calls_.take(*entry), std::move(message));
  const bool names_nothing = !message.has(Field::id) || message.raw(Field::id) == "null";
  if (names_nothing && server_.stdout_mode == config::StdoutMode::strict) {
    return wire_.stop(
        {mcp::EndReason::upstream_protocol, "sent an error that names no request (stdout: strict)", {}});
  }
  drop("unknown_id");
}

void InstanceInbox::request(mcp::Message message) {
  if (message.method() == "ping") {
    calls_.note_useless();
    return wire_.answer_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  if (is_modern()) {
    // 2026-07-28 stdio forbids it; an answer keeps the server from waiting for ever.
    drop("server_request");
    return wire_.answer_server(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                                  "servers of this revision do not send requests"));
  }
  StdioCall* only = calls_.owner_of_unnamed();
  owner_.on_unclaimed(std::move(message), only);
}

// It says what has changed and not on which listen: on any that was granted it. An acknowledgement can only
// be that of the one listen that waits for one.
void InstanceInbox::of_listens(const mcp::Message& message) {
  bool acknowledges = mcp::method_of(message.method()) == Method::subscriptions_acknowledged;
  std::vector<int64_t> to;
  for (const auto& [id, entry] : calls_.all()) {
    if (entry.listen && entry.call != nullptr && entry.acknowledged != acknowledges) to.push_back(id);
  }
  if (to.empty() || (acknowledges && to.size() > 1)) return drop("unscoped");
  owner_.on_heard(Heard::work);
  for (int64_t id : to) {
    PendingCall* entry = calls_.find(id);  // a client may leave whenever one is told something
    if (entry == nullptr || entry->call == nullptr) continue;
    entry->acknowledged = true;
    entry->call->message(message);
  }
}

// A server tears a listen down; it may name it in either form. For the server it is over: no cancel is owed.
void InstanceInbox::end_listen(mcp::Message message) {
  auto id = own_id(message.raw(Field::params_request_id));
  PendingCall* entry = id ? calls_.find(*id) : nullptr;
  if (entry == nullptr || !entry->listen) return drop("unknown_id");
  StdioCall* call = entry->call;
  calls_.forget(*entry);
  if (call == nullptr) return;
  call->instance = nullptr;
  call->answer(std::move(message));
}

bool InstanceInbox::deliver(PendingCall* entry, mcp::Message& message) {
  if (entry == nullptr || entry->call == nullptr) return false;
  if (entry->listen) owner_.on_heard(Heard::work);
  if (mcp::method_of(message.method()) == Method::subscriptions_acknowledged) entry->acknowledged = true;
  entry->call->message(std::move(message));
  return true;
}

void InstanceInbox::notification(mcp::Message message) {
  Method method = mcp::method_of(message.method());
  if (method == Method::progress) {
    PendingCall* entry = calls_.named(message.raw(Field::params_progress_token));
    if (entry != nullptr && !entry->listen && deliver(entry, message)) return;
    // In a session it may be that of a task, whose call was answered long ago.
    if (is_modern() || message.raw(Field::params_progress_token).empty()) return drop("unknown_token");
    return owner_.on_unclaimed(std::move(message), nullptr);
  }
  if (is_modern() && !message.has(Field::meta_subscription_id) && is_of_listens(message))
    return of_listens(message);
  if (method == Method::cancelled && is_modern()) return end_listen(std::move(message));
  if (message.has(Field::meta_subscription_id)) {
    auto id = own_id(message.raw(Field::meta_subscription_id));
    PendingCall* entry = id ? calls_.find(*id) : nullptr;
    if (entry == nullptr || !entry->listen || !deliver(entry, message)) drop("unknown_subscription");
    return;
  }
  if (is_modern()) {
    // Unscoped: it can only belong to the one call there is, if that call asked for such messages at all.
    // What a modern server says about a request it says before the answer (2026-07-28).
    StdioCall* only = calls_.only_call();
    if (only != nullptr && method == Method::message && only->request.message.has(Field::meta_log_level))
      return only->message(std::move(message));
    return drop("unscoped");
  }
  StdioCall* only = method == Method::message ? calls_.owner_of_line() : calls_.owner_of_unnamed();
  owner_.on_unclaimed(std::move(message), only);
}

}  // namespace lineward::upstream

#include "proxy/upstream/stdio/instance_inbox.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/shared/own_id.h"

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

void InstanceInbox::drop(std::string_view kind, std::string_view id) {
  if (kind == "unknown_id") stats_.message_error(metrics::MessageError::unknown_id);
  log::write(log::Level::info, "upstream.dropped",
             {{"upstream", server_.name}, {"kind", kind}, {"id", log::short_id(id)}});
  calls_.note_useless();
}

// Handles a line that is not a message. Banners are skipped; a broken answer must fail its call.
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

// The message has a method, so it is not an answer.
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
  drop("unknown_id", message.raw(Field::id));
}

void InstanceInbox::request(mcp::Message message) {
  if (message.method() == "ping") {
    calls_.note_useless();
    return wire_.answer_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  if (is_modern()) {
    // 2026-07-28 stdio forbids requests of servers; an error keeps the server from waiting for ever.
    drop("server_request");
    return wire_.answer_server(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                                  "servers of this revision do not send requests"));
  }
  StdioCall* only = calls_.owner_of_unnamed();
  owner_.on_unclaimed(std::move(message), only);
}

// The notification names no listen: it goes to all that were granted it. An acknowledgement can only be that
// of the single listen that waits for one.
void InstanceInbox::of_listens(const mcp::Message& message) {
  bool acknowledges = mcp::method_of(message.method()) == Method::subscriptions_acknowledged;
  std::vector<int64_t> to;
  for (const auto& [id, entry] : calls_.all()) {
    if (entry.listen && entry.call != nullptr && entry.acknowledged != acknowledges) to.push_back(id);
  }
  if (to.empty() || (acknowledges && to.size() > 1)) return drop("unscoped");
  owner_.on_heard(Heard::work);
  for (int64_t id : to) {
    PendingCall* entry = calls_.find(id);  // a client may disconnect during each delivery
    if (entry == nullptr || entry->call == nullptr) continue;
    entry->acknowledged = true;
    entry->call->message(message);
  }
}

// The server ended a listen; it may name it in either form. No cancel is sent.
void InstanceInbox::end_listen(mcp::Message message) {
  auto id = own_id(message.raw(Field::params_request_id));
  PendingCall* entry = id ? calls_.find(*id) : nullptr;
  if (entry == nullptr || !entry->listen) return drop("unknown_id", message.raw(Field::params_request_id));
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
    // In a session it may belong to a task: the task's call was answered long ago.
    if (is_modern() || message.raw(Field::params_progress_token).empty())
      return drop("unknown_token", message.raw(Field::params_progress_token));
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
    // Unscoped: it can only belong to the single pending call, if that call requested log messages. A modern
    // server sends all messages about a request before its answer (2026-07-28).
    StdioCall* only = calls_.only_call();
    if (only != nullptr && method == Method::message && only->request.message.has(Field::meta_log_level))
      return only->message(std::move(message));
    return drop("unscoped");
  }
  StdioCall* only = method == Method::message ? calls_.owner_of_line() : calls_.owner_of_unnamed();
  owner_.on_unclaimed(std::move(message), only);
}

}  // namespace lineward::upstream

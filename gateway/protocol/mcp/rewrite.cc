#include "protocol/mcp/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foundation/base/version.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/probe.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kSubscriptionId = "io.modelcontextprotocol/subscriptionId";

std::string subscription_meta(std::string_view raw_id) {
  return fmt::format(R"({{"{}":{}}})", kSubscriptionId, raw_id);
}

// In place: the rest of a long message moves by a few bytes, or not at all.
std::string with_field(Message&& message, Field field, std::string_view value) {
  const json::Span at = message.at(field);
  std::string bytes = std::move(message).take_bytes();
  bytes.replace(at.begin, at.size(), value);
  return bytes;
}

}  // namespace

std::string request_for_upstream(const Message& request, int64_t id) {
  std::string ours = std::to_string(id);
  if (!request.has(Field::meta_progress_token))
    return json::replaced(request.bytes(), request.at(Field::id), ours);
  json::Splice splice = request.splice();
  splice.replace(request.at(Field::id), ours);
  splice.replace(request.at(Field::meta_progress_token), ours);
  return splice.apply();
}

std::string response_for_client(Message&& response, std::string_view client_raw_id) {
  if (!response.has(Field::id)) return response.splice().apply();
  return with_field(std::move(response), Field::id, client_raw_id);
}

std::string listen_response_for_client(const Message& response, std::string_view client_raw_id) {
  json::Splice splice = response.splice();
  if (response.has(Field::id)) splice.replace(response.at(Field::id), std::string(client_raw_id));
  if (!response.is_object(Field::result)) return splice.apply();
  if (response.has(Field::result_subscription_id)) {
    splice.replace(response.at(Field::result_subscription_id), std::string(client_raw_id));
  } else if (response.is_object(Field::result_meta)) {
    splice.add_member(response.at(Field::result_meta), kSubscriptionId, client_raw_id);
  } else if (!response.has(Field::result_meta)) {
    splice.add_member(response.at(Field::result), "_meta", subscription_meta(client_raw_id));
  }
  return splice.apply();
}

std::string progress_for_client(const Message& progress, std::string_view client_raw_token) {
  if (!progress.has(Field::params_progress_token)) return progress.bytes();
  return json::replaced(progress.bytes(), progress.at(Field::params_progress_token), client_raw_token);
}

std::string progress_for_client(Message&& progress, std::string_view client_raw_token) {
  if (!progress.has(Field::params_progress_token)) return std::move(progress).take_bytes();
  return with_field(std::move(progress), Field::params_progress_token, client_raw_token);
}

std::string subscription_for_client(const Message& message, std::string_view client_raw_id) {
  if (message.has(Field::meta_subscription_id))
    return json::replaced(message.bytes(), message.at(Field::meta_subscription_id), client_raw_id);
  json::Splice splice = message.splice();
  if (message.is_object(Field::params_meta)) {
    splice.add_member(message.at(Field::params_meta), kSubscriptionId, client_raw_id);
  } else if (message.has(Field::params_meta)) {
    splice.replace(message.at(Field::params_meta), subscription_meta(client_raw_id));
  } else if (message.is_object(Field::params)) {
    splice.add_member(message.at(Field::params), "_meta", subscription_meta(client_raw_id));
  } else if (message.has(Field::params)) {  // null
    splice.replace(message.at(Field::params),
                   fmt::format(R"({{"_meta":{}}})", subscription_meta(client_raw_id)));
  } else {
    splice.insert(message.at(Field::method).end,
                  fmt::format(R"(,"params":{{"_meta":{}}})", subscription_meta(client_raw_id)));
  }
  return splice.apply();
}

std::string listen_result(std::string_view client_raw_id) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{0},"result":{{"resultType":"complete","_meta":)"
                     R"({{"io.modelcontextprotocol/subscriptionId":{0}}}}}}})",
                     client_raw_id);
}

std::string listen_cancelled(std::string_view client_raw_id) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{0},)"
                     R"("reason":"the subscription has ended","_meta":)"
                     R"({{"io.modelcontextprotocol/subscriptionId":{0}}}}}}})",
                     client_raw_id);
}

std::vector<std::string> changes_after_loss(const Message& acknowledgement, std::string_view client_raw_id) {
  std::vector<std::string> out;
  auto change = [&](std::string_view method, std::string_view members) {
    out.push_back(fmt::format(
        R"({{"jsonrpc":"2.0","method":"{}","params":{{{}"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
        method, members, client_raw_id));
  };
  std::string_view granted = acknowledgement.raw(Field::params_notifications);
  if (json::member(granted, "toolsListChanged") == "true") change("notifications/tools/list_changed", "");
  if (json::member(granted, "promptsListChanged") == "true") change("notifications/prompts/list_changed", "");
  if (json::member(granted, "resourcesListChanged") == "true")
    change("notifications/resources/list_changed", "");
  if (auto uris = json::member(granted, "resourceSubscriptions")) {
    for (const auto& uri : string_array(*uris)) {
      change("notifications/resources/updated", fmt::format(R"("uri":{},)", json::quote(uri)));
    }
  }
  return out;
}

std::string with_id(const Message& message, std::string_view raw_id) {
  return json::replaced(message.bytes(), message.at(Field::id), raw_id);
}

std::string with_request_id(const Message& cancelled, std::string_view raw_id) {
  if (!cancelled.has(Field::params_request_id)) return cancelled.bytes();
  return json::replaced(cancelled.bytes(), cancelled.at(Field::params_request_id), raw_id);
}

namespace {

struct EnvelopeMember {
  Field field;
  std::string_view key;
  std::string value;
};

std::array<EnvelopeMember, 3> envelope_members() {
  return {{{Field::meta_protocol_version, "io.modelcontextprotocol/protocolVersion",
            fmt::format(R"("{}")", kNewestModern)},
           {Field::meta_client_info, "io.modelcontextprotocol/clientInfo", LINEWARD_IMPLEMENTATION},
           {Field::meta_client_capabilities, "io.modelcontextprotocol/clientCapabilities", "{}"}}};
}

}  // namespace

std::string own_envelope() {
  std::string out;
  for (const auto& member : envelope_members()) {
    out += fmt::format(R"({}"{}":{})", out.empty() ? "" : ",", member.key, member.value);
  }
  return out;
}

std::string with_envelope(const Message& notification) {
  json::Splice splice = notification.splice();
  if (notification.is_object(Field::params_meta)) {
    for (const auto& member : envelope_members()) {
      if (!notification.has(member.field))
        splice.add_member(notification.at(Field::params_meta), member.key, member.value);
    }
  } else if (notification.has(Field::params_meta)) {
    splice.replace(notification.at(Field::params_meta), fmt::format("{{{}}}", own_envelope()));
  } else if (notification.is_object(Field::params)) {
    splice.add_member(notification.at(Field::params), "_meta", fmt::format("{{{}}}", own_envelope()));
  } else if (notification.has(Field::params)) {  // null
    splice.replace(notification.at(Field::params), fmt::format(R"({{"_meta":{{{}}}}})", own_envelope()));
  } else {
    json::Span method = notification.at(Field::method);
    splice.insert(method.end, fmt::format(R"(,"params":{{"_meta":{{{}}}}})", own_envelope()));
  }
  return splice.empty() ? notification.bytes() : splice.apply();
}

std::string cancel_notification(int64_t id, std::string_view reason, Era upstream_era) {
  std::string meta = upstream_era == Era::modern ? R"(,"_meta":{)" + own_envelope() + "}" : std::string();
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}{}}}}})",
      id, json::quote(reason), meta);
}

std::string cancel_of_task(const Message& answer) {
  if (answer.kind() != MessageKind::result || !answer.has(Field::result_task)) return {};
  auto id = json::member(answer.raw(Field::result_task), "taskId");
  if (!id || id->front() != '"') return {};
  return fmt::format(R"({{"taskId":{}}})", *id);
}

std::string discover_request(int64_t id) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"server/discover","params":{{"_meta":{{{}}}}}}})",
                     id, own_envelope());
}

std::string probe_request(int64_t id, std::string_view members) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"_meta":{{{},"progressToken":{}}}{}{}}}}})", id,
      kProbe, own_envelope(), id, members.empty() ? "" : ",", members);
}

std::string initialize_request(int64_t id, std::string_view params) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"initialize","params":{}}})", id, params);
}

std::string initialize_params(std::string_view capabilities, std::string_view revision) {
  return fmt::format(R"({{"protocolVersion":"{}","capabilities":{},"clientInfo":{}}})", revision,
                     capabilities, LINEWARD_IMPLEMENTATION);
}

std::string bare_initialize_params() {
  return initialize_params("{}");
}

std::vector<std::string> string_array(std::string_view raw) {
  std::vector<std::string> out;
  json::Cursor cursor(raw);
  if (!cursor.at_array() || !cursor.enter_array()) return out;
  while (cursor.next_element()) {
    json::Span value;
    if (!cursor.skip(value)) return out;
    std::string_view text = value.in(raw);
    if (text.size() >= 2 && text.front() == '"')
      out.push_back(json::unescape(text.substr(1, text.size() - 2)));
  }
  return out;
}

std::vector<std::string> spoken_versions(std::string_view raw_array) {
  std::vector<std::string> out;
  for (auto& version : string_array(raw_array)) {
    if (find_revision(version) != nullptr) out.push_back(std::move(version));
  }
  return out;
}

std::vector<std::string> served_versions(std::vector<std::string> spoken, Wire wire) {
  std::erase_if(spoken, [wire](const std::string& version) {
    const Revision* revision = find_revision(version);
    return revision == nullptr || !is_served(*revision, wire);
  });
  return spoken;
}

std::string with_versions(const Message& message, Field list, const std::vector<std::string>& versions) {
  if (!message.has(list) || string_array(message.raw(list)) == versions) return message.bytes();
  std::string text = "[";
  for (const auto& version : versions) {
    if (text.size() > 1) text += ',';
    text += json::quote(version);
  }
  json::Splice splice = message.splice();
  splice.replace(message.at(list), text + "]");
  return splice.apply();
}

std::optional<Message> in_place_of_answer(std::string_view raw_id, std::string_view why) {
  if (raw_id.empty()) return std::nullopt;
  auto message = Message::parse(
      error_message(raw_id, kInternalError, "the client's answer is no message: " + std::string(why)));
  if (!message) return std::nullopt;
  return std::move(*message);
}

std::optional<Message> in_place_of_answer(const MessageFault& fault) {
  if (fault.meant != MessageFault::Meant::answer) return std::nullopt;
  return in_place_of_answer(fault.raw_id, fault.text);
}

RecoveredIds recover_ids(std::string_view broken_line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (broken_line.starts_with(kByteOrderMark)) broken_line.remove_prefix(kByteOrderMark.size());
  if (broken_line.starts_with('[')) broken_line.remove_prefix(1);
  RecoveredIds found;
  bool answers = false, asks = false;
  while (found.raw_ids.size() < kMaxInBatch) {
    json::Cursor cursor(broken_line);
    if (!cursor.at_object() || !cursor.enter_object()) return found;
    json::Span key;
    bool escaped = false;
    while (cursor.next_key(key, escaped)) {
      std::string_view raw_key = key.in(broken_line);
      bool is_id = json::key_equals(raw_key, escaped, "id");
      if (json::key_equals(raw_key, escaped, "jsonrpc")) found.looks_like_message = true;
      asks = asks || json::key_equals(raw_key, escaped, "method");
      answers = answers || json::key_equals(raw_key, escaped, "result") ||
                json::key_equals(raw_key, escaped, "error");
      found.is_answer = answers && !asks;
      json::Span value;
      if (!cursor.skip(value)) return found;
      if (is_id) found.raw_ids.emplace_back(value.in(broken_line));
    }
    if (!cursor.done()) return found;
    broken_line.remove_prefix(cursor.offset());
    broken_line.remove_prefix(std::min(broken_line.find_first_not_of(" \t\r\n,"), broken_line.size()));
  }
  return found;
}

std::vector<std::string> batch_elements(std::string_view batch, size_t most) {
  std::vector<std::string> out;
  json::Cursor cursor(batch);
  if (!cursor.at_array() || !cursor.enter_array()) return {};
  while (cursor.next_element()) {
    json::Span value;
    if (!cursor.at_object() || !cursor.skip(value)) return {};
    out.emplace_back(value.in(batch));
    if (out.size() > most) return out;
  }
  return cursor.done() && cursor.finish() ? out : std::vector<std::string>{};
}

std::string too_many_in_batch(size_t most) {
  return fmt::format("a batch holds at most {} messages", most);
}

}  // namespace lineward::mcp

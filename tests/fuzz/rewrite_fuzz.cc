// The few bytes that change when a message crosses over. The result is a message of the same kind with the
// intended changes, and every other byte stands as it stood. The first byte chooses the client's id.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "likeness.h"
#include "protocol/mcp/legacy_server.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/rewrite.h"

using namespace lineward;
using mcp::Field;
using mcp::Message;
using mcp::MessageKind;

namespace {

constexpr std::string_view kClientIds[] = {"1",
                                           "\"1\"",
                                           "1.0",
                                           "-0",
                                           "\"\"",
                                           "123456789012345678901234567890",
                                           R"("a\"\u0062\\")",
                                           "\"\xC3\xA4 \xF0\x9F\x98\x80\""};
constexpr int64_t kOurs = 4711;
// A wrapper around a value may make it deeper than the limit for what comes in.
constexpr int kDeeper = json::kMaxDepth + 8;

using Members = std::vector<std::pair<std::string_view, std::string_view>>;  // raw key, raw value

Members members_of(std::string_view object) {
  Members out;
  json::Cursor cursor(object, kDeeper);
  json::Span key, value;
  bool escaped = false;
  LW_CHECK(cursor.at_object() && cursor.enter_object());
  while (cursor.next_key(key, escaped)) {
    LW_CHECK(cursor.skip(value));
    out.emplace_back(key.in(object), value.in(object));
  }
  LW_CHECK(cursor.done());
  return out;
}

Message parsed(const std::string& text, MessageKind kind) {
  auto message = Message::parse(text, kDeeper);
  LW_CHECK(message.has_value() && message->kind() == kind);
  return std::move(*message);
}

// `message` with these fields spelled anew, made without the splicer.
std::string with_fields(const Message& message, std::vector<std::pair<Field, std::string>> fields) {
  std::erase_if(fields, [&](const auto& field) { return !message.has(field.first); });
  std::sort(fields.begin(), fields.end(), [&](const auto& a, const auto& b) {
    return message.at(a.first).begin < message.at(b.first).begin;
  });
  std::string out;
  size_t at = 0;
  for (const auto& [field, text] : fields) {
    out += message.bytes().substr(at, message.at(field).begin - at) + text;
    at = message.at(field).end;
  }
  return out + message.bytes().substr(at);
}

bool is_any(std::string_view raw_key, std::initializer_list<std::string_view> names) {
  const bool escaped = raw_key.find('\\') != std::string_view::npos;
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return json::key_equals(raw_key, escaped, name); });
}

// `after` is `before` without the members of these names, and with new members of the other names in front of
// it.
void check_members(std::string_view before, std::string_view after,
                   std::initializer_list<std::string_view> removed,
                   std::initializer_list<std::string_view> added,
                   std::initializer_list<std::string_view> changed) {
  Members old = members_of(before), now = members_of(after);
  std::erase_if(old, [&](const auto& member) { return is_any(member.first, removed); });
  LW_CHECK(now.size() >= old.size());
  const size_t more = now.size() - old.size();
  for (size_t i = 0; i < more; ++i)
    LW_CHECK(is_any(now[i].first, added));
  for (size_t i = 0; i < old.size(); ++i) {
    const auto& [key, value] = now[more + i];
    LW_CHECK(key == old[i].first && (value == old[i].second || is_any(key, changed)));
  }
}

void check_request(const Message& request) {
  const std::string ours = std::to_string(kOurs);
  const std::string same_era = mcp::request_for_upstream(request, kOurs);
  LW_CHECK(same_era == with_fields(request, {{Field::id, ours}, {Field::meta_progress_token, ours}}));
  parsed(same_era, MessageKind::request);

  const Message legacy = parsed(mcp::modern_request_for_legacy(request, kOurs), MessageKind::request);
  LW_CHECK(legacy.raw(Field::id) == ours);
  check_members(request.bytes(), legacy.bytes(), {}, {}, {"id", "params"});
  if (!request.has(Field::params)) return;
  const bool kept = legacy.is_object(Field::params_meta);
  LW_CHECK(!legacy.has(Field::params_input_responses) && !legacy.has(Field::params_request_state));
  if (kept || !request.is_object(Field::params_meta)) {
    check_members(request.raw(Field::params), legacy.raw(Field::params),
                  {"inputResponses", "requestState", "task"}, {}, {"_meta"});
  } else {
    check_members(request.raw(Field::params), legacy.raw(Field::params),
                  {"inputResponses", "requestState", "task", "_meta"}, {}, {});
  }
  if (!kept) return;
  check_members(
      request.raw(Field::params_meta), legacy.raw(Field::params_meta),
      {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities",
       "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel", "io.lineward/timeoutMs"},
      {}, {"progressToken"});
  if (request.has(Field::meta_progress_token)) LW_CHECK(legacy.raw(Field::meta_progress_token) == ours);
}

void check_answer(const Message& answer, const std::string& id) {
  const MessageKind kind = answer.kind();
  const std::string same_era = mcp::listen_response_for_client(answer, id);
  if (answer.has(Field::result_subscription_id) || !answer.is_object(Field::result)) {
    LW_CHECK(same_era == with_fields(answer, {{Field::id, id}, {Field::result_subscription_id, id}}));
  } else if (!answer.has(Field::result_meta) || answer.is_object(Field::result_meta)) {
    LW_CHECK(parsed(same_era, kind).raw(Field::result_subscription_id) ==
             id);  // put in where it was left out
  }
  LW_CHECK(mcp::response_for_client(Message(answer), id) == with_fields(answer, {{Field::id, id}}));
  parsed(same_era, kind);
  for (Field list : {Field::result_supported_versions, Field::error_data_supported}) {
    const auto spoken = mcp::spoken_versions(answer.raw(list));
    const std::string cut = mcp::with_versions(answer, list, spoken);
    LW_CHECK(mcp::string_array(parsed(cut, kind).raw(list)) ==
             (answer.has(list) ? spoken : std::vector<std::string>()));
    const std::string back(answer.raw(list));
    LW_CHECK(with_fields(parsed(cut, kind), {{list, back}}) == answer.bytes());
  }

  mcp::LegacyServer server = mcp::read_initialize_result(answer.raw(Field::result));
  parsed(mcp::discover_answer(server), MessageKind::result);
  for (mcp::Method method :
       {mcp::Method::tools_call, mcp::Method::tools_list, mcp::Method::server_discover}) {
    const Message modern = parsed(mcp::legacy_answer_for_modern(answer, method, server).bytes, kind);
    check_members(answer.bytes(), modern.bytes(), {}, {}, {"result", "error"});
    if (kind == MessageKind::error) {
      check_members(answer.raw(Field::error), modern.raw(Field::error), {}, {}, {"code"});
      continue;
    }
    if (!answer.is_object(Field::result)) {
      LW_CHECK(modern.bytes() == answer.bytes());
      continue;
    }
    check_members(answer.raw(Field::result), modern.raw(Field::result), {},
                  {"resultType", "_meta", "ttlMs", "cacheScope"},
                  {"resultType", "_meta", "ttlMs", "cacheScope"});
    LW_CHECK(modern.has(Field::result_type) && modern.has(Field::result_meta));
    if (answer.is_object(Field::result_meta)) {
      check_members(answer.raw(Field::result_meta), modern.raw(Field::result_meta), {},
                    {"io.modelcontextprotocol/serverInfo"}, {});
    }
  }
}

void check_notification(const Message& notification, const std::string& id) {
  if (notification.has(Field::params_progress_token)) {
    const std::string progress = mcp::progress_for_client(notification, id);
    LW_CHECK(progress == mcp::progress_for_client(Message(notification), id));
    LW_CHECK(progress == with_fields(notification, {{Field::params_progress_token, id}}));
    parsed(progress, MessageKind::notification);
  }
  if (notification.has(Field::params_request_id)) {
    const std::string cancelled = mcp::with_request_id(notification, id);
    LW_CHECK(cancelled == with_fields(notification, {{Field::params_request_id, id}}));
    parsed(cancelled, MessageKind::notification);
  }
  const std::string listen = mcp::subscription_for_client(notification, id);
  if (notification.has(Field::meta_subscription_id)) {
    LW_CHECK(listen == with_fields(notification, {{Field::meta_subscription_id, id}}));
  } else if (!notification.has(Field::params) || notification.is_object(Field::params)) {
    LW_CHECK(parsed(listen, MessageKind::notification).raw(Field::meta_subscription_id) == id);
  }
  for (const std::string& change : mcp::changes_after_loss(notification, id)) {
    LW_CHECK(parsed(change, MessageKind::notification).raw(Field::meta_subscription_id) == id);
  }

  const Message enveloped = parsed(mcp::with_envelope(notification), MessageKind::notification);
  if (notification.has(Field::params)) {
    check_members(notification.bytes(), enveloped.bytes(), {}, {}, {"params"});
  } else {
    Members now = members_of(enveloped.bytes());
    std::erase_if(now, [](const auto& member) { return is_any(member.first, {"params"}); });
    LW_CHECK(now == members_of(notification.bytes()));
  }
  LW_CHECK(enveloped.has(Field::meta_protocol_version));
  if (notification.is_object(Field::params)) {
    check_members(notification.raw(Field::params), enveloped.raw(Field::params), {}, {"_meta"}, {"_meta"});
  }
  if (notification.is_object(Field::params_meta)) {
    check_members(notification.raw(Field::params_meta), enveloped.raw(Field::params_meta), {},
                  {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
                   "io.modelcontextprotocol/clientCapabilities"},
                  {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string id(kClientIds[data[0] % std::size(kClientIds)]);
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);

  for (mcp::Era era : {mcp::Era::modern, mcp::Era::legacy}) {
    const Message cancel = parsed(mcp::cancel_notification(kOurs, text, era), MessageKind::notification);
    LW_CHECK(cancel.raw(Field::params_request_id) == std::to_string(kOurs));
  }
  auto message = Message::parse(text);
  if (!message || has_likeness(text)) return 0;
  if (message->has(Field::id)) {
    LW_CHECK(mcp::with_id(*message, id) == with_fields(*message, {{Field::id, id}}));
  }
  LW_CHECK(parsed(mcp::listen_result(id), MessageKind::result).raw(Field::result_subscription_id) == id);
  switch (message->kind()) {
    case MessageKind::request: check_request(*message); break;
    case MessageKind::result:
    case MessageKind::error: check_answer(*message, id); break;
    case MessageKind::notification: check_notification(*message, id); break;
  }
  return 0;
}

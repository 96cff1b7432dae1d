// The envelope on any bytes: spans are values in range, and a new id can be taken back without a trace.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "mcp/message.h"

using namespace lineward;
using mcp::Field;
using mcp::Message;
using mcp::MessageKind;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool json = json::validate(text) == json::Fault::none;
  auto message = Message::parse(text);
  if (!message) {
    LW_CHECK(json == (message.error().kind != mcp::MessageFault::Kind::not_json));
    LW_CHECK(message.error().raw_id.empty() || json::validate(message.error().raw_id) == json::Fault::none);
    return 0;
  }
  LW_CHECK(json && message->bytes() == text);
  for (uint8_t i = 0; i < static_cast<uint8_t>(Field::count_); ++i) {
    const Field field{i};
    if (!message->has(field)) continue;
    LW_CHECK(message->at(field).end <= size && json::validate(message->raw(field)) == json::Fault::none);
    const json::Span key = message->key_at(field);
    LW_CHECK(key.begin > 0 && text[key.begin - 1] == '"' && text[key.end] == '"');
    LW_CHECK(key.end < message->at(field).begin);
    (void)message->text(field);
  }
  const bool call = message->kind() == MessageKind::request || message->kind() == MessageKind::notification;
  LW_CHECK(call == message->has(Field::method));
  if (!message->has(Field::id)) return 0;

  const std::string id(message->raw(Field::id));
  (void)mcp::canonical_id(id);
  auto splice = message->splice();
  splice.replace(message->at(Field::id), "1");
  auto changed = Message::parse(splice.apply());
  LW_CHECK(changed.has_value() && changed->raw(Field::id) == "1" && changed->kind() == message->kind());
  auto back = changed->splice();
  back.replace(changed->at(Field::id), id);
  LW_CHECK(back.apply() == text);
  return 0;
}

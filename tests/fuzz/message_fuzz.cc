// The envelope on any bytes: spans are values in range, and a new id can be taken back without a trace.
#include <cstddef>
#include <cstdint>
#include <string>

#include "foundation/base/check.h"
#include "protocol/mcp/message.h"

using namespace lineward;
using mcp::Field;
using mcp::Message;
using mcp::MessageKind;

namespace {

json::Text outlined(const std::string& text, size_t chunk) {
  auto outline = std::make_shared<json::Outline>(json::kMaxDepth, 4);
  for (size_t at = chunk; at < text.size(); at += chunk)
    outline->more(text.substr(0, at));
  outline->more(text);
  outline->close();
  return {text, std::move(outline)};
}

void same(const Message& a, const Message& b) {
  LW_CHECK(a.bytes() == b.bytes() && a.kind() == b.kind() && a.method() == b.method());
  for (uint8_t i = 0; i < static_cast<uint8_t>(Field::count_); ++i)
    LW_CHECK(a.has(Field{i}) == b.has(Field{i}) && a.raw(Field{i}) == b.raw(Field{i}));
}

// The skipped part is the part that would have been read.
void check_outlined(const std::string& text, const Result<Message, mcp::MessageFault>& plain, size_t chunk) {
  auto message = Message::parse(outlined(text, chunk));
  LW_CHECK(message.has_value() == plain.has_value());
  if (!message) {
    LW_CHECK(message.error().kind == plain.error().kind && message.error().text == plain.error().text);
    return;
  }
  same(*message, *plain);
  for (const Field field : {Field::id, Field::params_arguments, Field::result_meta, Field::params_meta}) {
    if (!message->has(field)) continue;
    auto splice = message->splice();
    splice.replace(message->at(field), "1");
    if (message->is_object(Field::result)) splice.add_member(message->at(Field::result), "added", "[2]");
    json::Text changed = splice.apply_outlined();
    auto again = Message::parse(changed.bytes, json::kDepthCeiling);
    auto faster = Message::parse(std::move(changed), json::kDepthCeiling);
    LW_CHECK(again.has_value() == faster.has_value());
    if (again) same(*again, *faster);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool json = json::validate(text) == json::Fault::none;
  auto message = Message::parse(text);
  check_outlined(text, message, 1 + size % 13);
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

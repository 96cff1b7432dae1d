// A legacy client in front of a modern server. For any input of either, Lineward's output is a valid message
// with the required content, and unchanged otherwise. The first byte chooses method and revision.
#include <cstddef>
#include <cstdint>
#include <string>

#include "foundation/base/check.h"
#include "foundation/json/json_member.h"
#include "likeness.h"
#include "protocol/mcp/modern_server.h"
#include "protocol/mcp/output_schema.h"
#include "protocol/mcp/revision.h"

using namespace lineward;
using mcp::Field;
using mcp::Message;
using mcp::MessageKind;
using mcp::Method;

namespace {

// A wrapped value lies deeper than in the input.
constexpr int kDeeper = json::kMaxDepth + 8;
constexpr Method kMethods[] = {Method::tools_call, Method::tools_list, Method::resources_read,
                               Method::prompts_get};
constexpr const char* kRevisions[] = {"2025-03-26", "2025-06-18", "2025-11-25"};

Message parsed(const std::string& text, MessageKind kind) {
  auto message = Message::parse(text, kDeeper);
  LW_CHECK(message.has_value() && message->kind() == kind);
  return std::move(*message);
}

void check_request(const Message& request, const mcp::LegacyClient& client) {
  mcp::InputRetry retry{{{"k\"", "{}"}}, R"("s")"};
  Message modern = parsed(mcp::legacy_message_for_modern(request, client, &retry), request.kind());
  LW_CHECK(modern.method() == request.method());
  LW_CHECK(modern.raw(Field::id) == request.raw(Field::id));
  LW_CHECK(modern.text(Field::meta_protocol_version) == mcp::kNewestModern);
  LW_CHECK(modern.raw(Field::meta_client_capabilities) == client.capabilities);
  LW_CHECK(!modern.has(Field::params_task));
  if (request.is_object(Field::params)) {
    LW_CHECK(modern.raw(Field::params_request_state) == R"("s")");
    LW_CHECK(modern.raw(Field::params_arguments) == request.raw(Field::params_arguments));
  }
  if (request.is_object(Field::params_meta))
    LW_CHECK(modern.raw(Field::meta_progress_token) == request.raw(Field::meta_progress_token));
  mcp::LegacyClient said = mcp::read_initialize_params(request);
  LW_CHECK(json::validate(said.capabilities) == json::Fault::none);
  parsed(mcp::discover_for_client(said), MessageKind::request);
}

void check_answer(const Message& answer, Method method, const std::string& revision) {
  mcp::WrappedTools wrapped;
  const auto changed = mcp::modern_answer_for_legacy(answer, method, "x", wrapped);
  const std::string text = changed ? changed->bytes : answer.bytes();
  Message old = parsed(text, answer.kind());
  LW_CHECK(old.raw(Field::id) == answer.raw(Field::id));
  auto content = json::member(old.raw(Field::result), "structuredContent");
  if (method == Method::tools_call && content) LW_CHECK(content->front() == '{');
  // Once it is readable it stays as it is.
  if (method == Method::tools_list && answer.kind() == MessageKind::result)
    LW_CHECK(!mcp::modern_answer_for_legacy(old, method, "x", wrapped));
  if (auto server = mcp::read_discover_result(answer))
    parsed(mcp::initialize_answer(*server, mcp::LegacyClient{revision, "{}", "{}"}), MessageKind::result);
  mcp::InputRequired wanted = mcp::read_input_required(answer, 4);
  LW_CHECK(wanted.requests.size() <= 4);
  if (!wanted.fault.empty()) return;
  LW_CHECK(!wanted.requests.empty() || !wanted.state.empty());
  for (const auto& request : wanted.requests) {
    auto question = Message::parse(mcp::question_for_legacy(request, 7, revision, "e"), kDeeper);
    if (!question) continue;  // parameters of roots/list that are no object: the call fails
    LW_CHECK(question->kind() == MessageKind::request && question->method() == request.method);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Method method = kMethods[data[0] % std::size(kMethods)];
  const std::string revision = kRevisions[(data[0] / 4) % std::size(kRevisions)];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (json::validate(text) == json::Fault::none) {
    json::Cursor cursor(text);
    json::Span value;
    LW_CHECK(cursor.skip(value));
    const std::string wrapped = mcp::wrapped_schema(value.in(text));
    LW_CHECK(mcp::is_object_schema(wrapped));
    LW_CHECK(json::validate(wrapped, kDeeper) == json::Fault::none);
  }
  auto message = Message::parse(text);
  if (!message || has_likeness(text)) return 0;
  switch (message->kind()) {
    case MessageKind::request:
      check_request(*message, {revision, R"({"name":"c","version":"1"})", R"({"roots":{}})"});
      break;
    case MessageKind::result:
    case MessageKind::error: check_answer(*message, method, revision); break;
    case MessageKind::notification:
      parsed(mcp::listen_notification_for_legacy(*message), MessageKind::notification);
      break;
  }
  return 0;
}

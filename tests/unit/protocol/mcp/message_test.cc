#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/rewrite.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "unit/foundation/json/json_gen.h"
#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using mcp::batch_elements;
using mcp::canonical_id;
using mcp::Field;
using mcp::kMaxInBatch;
using mcp::Message;
using mcp::MessageFault;
using mcp::MessageKind;
using mcp::parse;
using mcp::recover_ids;
using Kind = mcp::MessageFault::Kind;

namespace {

const char* kind_name(Kind kind) {
  return kind == Kind::not_json ? "not_json" : kind == Kind::batch ? "batch" : "invalid_request";
}

// Parses and gives the fault's kind, or "ok".
std::string verdict(const std::string& text) {
  const auto message = Message::parse(text);
  if (message) {
    CHECK(message->bytes() == text);
    return "ok";
  }
  CHECK_FALSE(message.error().text.empty());
  return kind_name(message.error().kind);
}

std::string raw_id_of_fault(const std::string& text) {
  const auto message = Message::parse(text);
  REQUIRE_FALSE(message);
  return message.error().raw_id;
}

std::string fault_text(const std::string& text) {
  const auto message = Message::parse(text);
  return message ? "" : message.error().text;
}

// The parser's whole result, as text.
std::string found_in(const std::string& text) {
  const auto message = Message::parse(text);
  if (!message) return message.error().text + " " + message.error().raw_id;
  std::string all = message->method();
  for (uint8_t f = 0; f < static_cast<uint8_t>(Field::count_); ++f) {
    const Field field = static_cast<Field>(f);
    if (!message->has(field)) continue;
    const json::Span key = message->key_at(field), value = message->at(field);
    for (const uint32_t part : {uint32_t{f}, key.begin, key.end, value.begin, value.end})
      all += " " + std::to_string(part);
  }
  return all;
}

}  // namespace

TEST_CASE("Message: a request and all it carries") {
  const Message m = parse(
      R"( {"jsonrpc":"2.0" , "id" : "a\u0062","method":"tools/call","x":[1e400],"params":{"name":"e\"cho","uri":null,)"
      R"("arguments":{"_meta":1,"name":"no"}, "_meta": {"progressToken":1.0,"io.modelcontextprotocol/protocolVersion":)"
      R"("2026-07-28","io.lineward/timeoutMs":5,"traceparent":"00"}}} )");
  CHECK(m.kind() == MessageKind::request);
  CHECK(m.method() == "tools/call");
  CHECK(m.raw(Field::id) == R"("a\u0062")");
  CHECK(m.text(Field::id) == "ab");
  CHECK(m.key_at(Field::id).in(m.bytes()) == "id");
  CHECK(m.text(Field::params_name) == "e\"cho");
  CHECK(m.raw(Field::params_uri) == "null");
  CHECK_FALSE(m.is_string(Field::params_uri));
  CHECK(m.text(Field::params_uri).empty());
  CHECK(m.raw(Field::params_arguments) == R"({"_meta":1,"name":"no"})");
  CHECK(m.is_object(Field::params_meta));
  CHECK(m.raw(Field::meta_progress_token) == "1.0");
  CHECK(m.text(Field::meta_protocol_version) == "2026-07-28");
  CHECK(m.raw(Field::meta_timeout_ms) == "5");
  CHECK(m.text(Field::meta_traceparent) == "00");
  CHECK(m.raw(Field::params).front() == '{');
  CHECK(m.raw(Field::params).back() == '}');
  CHECK_FALSE(m.has(Field::params_cursor));
  CHECK(m.raw(Field::params_cursor).empty());
  CHECK_FALSE(m.is_object(Field::params_cursor));
}

TEST_CASE("Message: moves with its fields, also a short one") {
  Message first = parse(R"({"jsonrpc":"2.0","method":"m"})");
  const Message second = std::move(first);
  CHECK(second.method() == "m");
  CHECK(second.raw(Field::method) == "\"m\"");
  CHECK(second.kind() == MessageKind::notification);
  Message third = second;
  CHECK(std::move(third).take_bytes() == second.bytes());
}

TEST_CASE("Message: every field is found by its key and by no other") {
  const std::vector<std::string> texts = {
      R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":2,)"
      R"("io.modelcontextprotocol/protocolVersion":3,"io.modelcontextprotocol/clientCapabilities":4,)"
      R"("io.modelcontextprotocol/clientInfo":5,"io.modelcontextprotocol/logLevel":6,)"
      R"("io.modelcontextprotocol/subscriptionId":7,"io.lineward/timeoutMs":8,"traceparent":9},"name":10,"uri":11,)"
      R"("cursor":12,"requestId":13,"reason":14,"progressToken":15,"level":16,"notifications":17,"arguments":18,)"
      R"("protocolVersion":19,"capabilities":20,"clientInfo":21,"requestState":22,"inputResponses":23,"task":24,)"
      R"("taskId":25}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":2,)"
      R"("io.modelcontextprotocol/serverInfo":3},"resultType":4,"isError":5,"task":6,"supportedVersions":7,)"
      R"("protocolVersion":8,"capabilities":9,"serverInfo":10,"nextCursor":11,"ttlMs":12,"cacheScope":13,)"
      R"("content":14,"structuredContent":15,"messages":16,"contents":17,"requestState":18,"taskId":19,"result":20,)"
      R"("tools":21,"prompts":22,"resources":23,"resourceTemplates":24,"tasks":25,"instructions":26}})",
      R"({"jsonrpc":"2.0","id":1,"error":{"code":2,"message":3,"data":{"supported":4}}})"};
  size_t found = 0;
  for (const std::string& text : texts) {
    const Message first = parse(text);
    Message copy = first;
    const Message m = std::move(copy);  // with the fields beyond the usual number
    std::vector<std::string> values;
    for (uint8_t i = 0; i < static_cast<uint8_t>(Field::count_); ++i) {
      const Field field{i};
      if (!m.has(field)) continue;
      ++found;
      CHECK(first.raw(field) == m.raw(field));
      values.emplace_back(m.raw(field));
      // With another byte anywhere, or one more or less: another key.
      const json::Span key = m.key_at(field);
      CAPTURE(key.in(text));
      const auto is_other = [&](uint32_t at, size_t size, const char* bytes) {
        std::string other = text;
        other.replace(at, size, bytes);
        const auto changed = Message::parse(other);
        return !changed || !changed->has(field);
      };
      for (uint32_t at = key.begin; at < key.end; ++at)
        CHECK(is_other(at, 1, "~"));
      CHECK(is_other(key.begin + key.size() / 2, 0, "~"));
      CHECK(is_other(key.begin + key.size() / 2, 1, ""));
    }
    std::sort(values.begin(), values.end());
    CHECK(std::unique(values.begin(), values.end()) == values.end());
  }
  CHECK(found == static_cast<size_t>(Field::count_) + 2);  // all, and the id three times
}

TEST_CASE("Message: results and errors") {
  const Message result = parse(
      R"({"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"resultType":"complete","isError":true,)"
      R"("nextCursor":"c","ttlMs":5,"content":[{"_meta":{}},{"_meta":{}}]},"id":3,"jsonrpc":"2.0"})");
  CHECK(result.kind() == MessageKind::result);
  CHECK(result.method().empty());
  CHECK(result.raw(Field::result_subscription_id) == "7");
  CHECK(result.text(Field::result_type) == "complete");
  CHECK(result.raw(Field::result_is_error) == "true");
  CHECK(result.text(Field::result_next_cursor) == "c");
  CHECK_FALSE(result.has(Field::meta_subscription_id));

  const Message error = parse(
      R"({"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}})");
  CHECK(error.kind() == MessageKind::error);
  CHECK(error.raw(Field::error_code) == "-32022");
  CHECK(error.raw(Field::error_data_supported) == "[\"2025-11-25\"]");
  CHECK(parse(R"({"jsonrpc":"2.0","id":3,"error":{"data":"text"}})").text(Field::error_data) == "text");

  for (const char* value : {"null", "1", "\"x\"", "[]", "{}", "[{\"_meta\":1,\"_meta\":2}]"}) {
    CHECK(verdict(std::string(R"({"jsonrpc":"2.0","id":1,"result":)") + value + "}") == "ok");
  }
  const Message orphan = parse(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}})");
  CHECK(orphan.kind() == MessageKind::error);
  CHECK(orphan.raw(Field::id) == "null");
  CHECK_FALSE(parse(R"({"jsonrpc":"2.0","error":{}})").has(Field::id));
  CHECK(verdict(R"({"jsonrpc":"2.0","id":1.5,"error":{}})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":null,"result":{}})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","result":{}})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"error":"no"})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"error":null})") == "invalid_request");
}

TEST_CASE("Message: ids") {
  const auto with = [](const std::string& id) { return R"({"jsonrpc":"2.0","method":"m","id":)" + id + "}"; };
  for (const char* id : {"0", "-0", "-7", "1.0", "1.000", "-0.0", "123456789012345678901234567890", "\"\"",
                         "\"1\"", "\"\\ud800\"", "9007199254740993"}) {
    CAPTURE(id);
    const Message m = parse(with(id));
    CHECK(m.raw(Field::id) == id);
    CHECK(m.kind() == MessageKind::request);
  }
  for (const char* id : {"null", "1.5", "1.01", "1e2", "1E0", "1.0e1", "true", "false", "{}", "[]", "[1]"}) {
    CAPTURE(id);
    CHECK(verdict(with(id)) == "invalid_request");
    CHECK(raw_id_of_fault(with(id)).empty());
  }
}

TEST_CASE("Message: canonical ids") {
  CHECK(canonical_id("1") == "n:1");
  CHECK(canonical_id("1.0") == "n:1");
  CHECK(canonical_id("1.000") == "n:1");
  CHECK(canonical_id("10") == "n:10");
  CHECK(canonical_id("-0") == "n:0");
  CHECK(canonical_id("-0.0") == "n:0");
  CHECK(canonical_id("-10.00") == "n:-10");
  CHECK(canonical_id("1.50") == "n:1.50");
  CHECK(canonical_id("\"1\"") == "s:1");
  CHECK(canonical_id("\"1.0\"") == "s:1.0");
  CHECK(canonical_id("\"a\\u0062\"") == canonical_id("\"ab\""));
  CHECK(canonical_id("\"\\ud800\"") != canonical_id("\"\\ud801\""));
  CHECK(canonical_id("\"\\ud800\"") != canonical_id("\"\\ufffd\""));
  CHECK(canonical_id("\"\"") == "s:");
  CHECK(canonical_id("123456789012345678901234567890") == "n:123456789012345678901234567890");
}

TEST_CASE("Message: wrong shapes") {
  for (const char* text : {"1",
                           "null",
                           "\"x\"",
                           "true",
                           "{}",
                           R"({"jsonrpc":"2.0"})",
                           R"({"jsonrpc":"2.0","id":1})",
                           R"({"method":"m"})",
                           R"({"jsonrpc":"1.0","method":"m"})",
                           R"({"jsonrpc":2.0,"method":"m"})",
                           R"({"jsonrpc":["2.0"],"method":"m"})",
                           R"({"jsonrpc":"2.0 ","method":"m"})",
                           R"({"jsonrpc":"","method":"m"})",
                           R"({"JSONRPC":"2.0","method":"m"})",
                           R"({"jsonrpc":"2.0","method":1})",
                           R"({"jsonrpc":"2.0","method":null})",
                           R"({"jsonrpc":"2.0","Method":"m"})",
                           R"({"jsonrpc":"2.0","method":"m","params":[]})",
                           R"({"jsonrpc":"2.0","method":"m","params":"x"})",
                           R"({"jsonrpc":"2.0","method":"m","params":5})",
                           R"({"jsonrpc":"2.0","id":1,"method":"m","result":{}})",
                           R"({"jsonrpc":"2.0","id":1,"method":"m","error":{}})",
                           R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "invalid_request");
  }
  for (const char* text : {"[]", " [1]", R"([{"jsonrpc":"2.0","method":"m"}])"}) {
    CHECK(verdict(text) == "batch");
    CHECK(fault_text(text) == "batches are not supported");
  }
  // Errors for the owner to judge.
  CHECK(verdict(R"({"jsonrpc":"2.0","method":"m","params":{"_meta":[]}})") == "ok");
  CHECK_FALSE(parse(R"({"jsonrpc":"2.0","method":"m","params":{"_meta":[]}})").is_object(Field::params_meta));
  CHECK(verdict(R"({"jsonrpc":"2.0","method":"","params":{"name":1,"uri":{},"requestId":null}})") == "ok");
  CHECK(verdict(R"({"jsonrpc":"\u0032.0","method":"m"})") == "ok");
}

TEST_CASE("Message: text that is not JSON, and where") {
  for (const char* text :
       {"", " ", "{", "[", "[1", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"", "nul", "{]", "{} {}", "1 1", "[] x",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",}", "{\"jsonrpc\":\"2.0\",\"method\":\"\xFF\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"x\":{\"y\":01}}", "{'a':1}", "\xEF\xBB\xBF{}"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "not_json");
    CHECK(raw_id_of_fault(text).empty());
  }
  CHECK(fault_text("{\"a\":tru}") == "not JSON: syntax error at byte 5");
  CHECK(fault_text("{\"a\":1") == "not JSON: the text ends too early at byte 6");
  CHECK(fault_text("{\"a\":\"\xFF\"}") == "not JSON: invalid UTF-8 at byte 6");
  CHECK(fault_text("{} x") == "not JSON: something follows the message at byte 3");
  CHECK(fault_text("\xEF\xBB\xBF{}") == "not JSON: byte order mark at byte 0");
  const std::string deep =
      R"({"jsonrpc":"2.0","method":"m","x":)" + std::string(128, '[') + std::string(128, ']') + "}";
  CHECK(fault_text(deep) == "nested deeper than the limit of 128 levels (listen.maxDepth) at byte 161");
  CHECK(Message::parse(deep, 129));
  const auto deep_as = [](size_t depth) {
    return R"({"jsonrpc":"2.0","method":"m","params":{"_meta":{"x":)" + std::string(depth - 3, '[') +
           std::string(depth - 3, ']') + "}}}";
  };
  CHECK(Message::parse(deep_as(1024), 5000));
  CHECK_FALSE(Message::parse(deep_as(1025), 5000));
  CHECK_FALSE(Message::parse(R"({"jsonrpc":"2.0","method":"m","params":{"_meta":{}}})", 2));
  CHECK(Message::parse(R"({"jsonrpc":"2.0","method":"m","params":{"_meta":{}}})", 3));
}

TEST_CASE("Message: null in the place of params is none, and beside a result or an error it is taken out") {
  const Message request = parse(R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":null})");
  CHECK(request.kind() == MessageKind::request);
  CHECK(request.raw(Field::params) == "null");
  CHECK_FALSE(request.is_object(Field::params));
  const Message result = parse(R"( {"error" : null,"jsonrpc":"2.0","id":7,"result":{"a":"}"}} )");
  CHECK(result.kind() == MessageKind::result);
  CHECK(result.bytes() == R"( {"jsonrpc":"2.0","id":7,"result":{"a":"}"}} )");
  CHECK(parse(R"({"jsonrpc":"2.0","id":7,"result":null,"error":null})").kind() == MessageKind::result);
  const Message error = parse(R"({"jsonrpc":"2.0","id":7,"result":null,"error":{"code":1,"message":"x"}})");
  CHECK(error.kind() == MessageKind::error);
  CHECK(error.bytes() == R"({"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}})");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":7,"result":{},"error":null,"error":null})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":7,"method":"m","error":null})") == "invalid_request");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":7,"result":null,"error":"x"})") == "invalid_request");
}

TEST_CASE("Message: what a broken one was to be") {
  using Meant = MessageFault::Meant;
  const auto meant = [](const char* text) {
    auto message = Message::parse(text);
    REQUIRE(!message);
    return message.error().meant;
  };
  for (const char* text : {
           R"({"jsonrpc":"2.0","method":"m","params":5})",
           R"({"jsonrpc":"2.0","method":"m","params":[]})",
           R"({"jsonrpc":"2.0","method":"m","params":"x"})",
           R"({"jsonrpc":"1.0","method":"m"})",
           R"({"method":7})",
           R"({"jsonrpc":"2.0","method":"m","method":"n"})",
       }) {
    CAPTURE(text);
    CHECK(meant(text) == Meant::notification);
  }
  CHECK(meant(R"({"jsonrpc":"2.0","id":7,"method":"m","params":5})") == Meant::request);
  CHECK(meant(R"({"jsonrpc":"2.0","id":null,"method":"m"})") == Meant::request);
  for (const char* text : {
           R"({"jsonrpc":"2.0","id":7,"error":"x"})",
           R"({"jsonrpc":"2.0","result":{}})",
           R"({"jsonrpc":"2.0","id":7,"result":{},"error":"x"})",
       }) {
    CAPTURE(text);
    CHECK(meant(text) == Meant::answer);
  }
  for (const char* text : {
           R"({"jsonrpc":"2.0","id":7,"method":"m","result":{}})",
           R"({"jsonrpc":"2.0","id":7})",
           R"({"jsonrpc":"2.0","method":"m")",
           R"([{"jsonrpc":"2.0","method":"m","params":null}])",
           "7",
       }) {
    CAPTURE(text);
    CHECK(meant(text) == Meant::unknown);
  }
}

TEST_CASE("Message: an answer that is none is refused under no id, and its question has another one") {
  const auto fault = [](const char* text) {
    auto message = Message::parse(text);
    REQUIRE(!message);
    return message.error();
  };
  const MessageFault broken = fault(R"({"jsonrpc":"2.0","id":"q","result":{},"error":"x"})");
  CHECK(broken.id_to_refuse().empty());
  auto instead = in_place_of_answer(broken);
  REQUIRE(instead);
  CHECK(instead->kind() == MessageKind::error);
  CHECK(instead->raw(Field::id) == "\"q\"");
  // The answer to an unknown request.
  CHECK_FALSE(in_place_of_answer(fault(R"({"jsonrpc":"2.0","result":{}})")));
  const MessageFault request = fault(R"({"jsonrpc":"2.0","id":7,"method":"m","params":5})");
  CHECK(request.id_to_refuse() == "7");
  CHECK_FALSE(in_place_of_answer(request));
  CHECK(recover_ids(R"({"jsonrpc":"2.0","id":7,"result":{"a)").is_answer);
  CHECK_FALSE(recover_ids(R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a)").is_answer);
}

TEST_CASE("Message: of a line that is none, the ids that it claims are known") {
  using Ids = std::vector<std::string>;
  CHECK(recover_ids("\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}").raw_ids == Ids{"7"});
  CHECK(recover_ids(R"([{"id":1},{"id":2} , {"id":3},x])").raw_ids == Ids{"1", "2", "3"});
  CHECK(recover_ids(R"({"id":1} {"id":2}{"id":"3"})").raw_ids == Ids{"1", "2", "\"3\""});
  std::string many = "[";
  for (int i = 0; i < 1000; ++i)
    many += R"({"id":1},)";
  CHECK(recover_ids(many).raw_ids.size() == kMaxInBatch);
}

TEST_CASE("Message: of a batch that is too long no more is read than shows it") {
  CHECK(batch_elements("[{},{},{}]", 3).size() == 3);
  CHECK(batch_elements("[{},{},{}]", 2).size() == 3);
  CHECK(batch_elements("[{},{},{},x", 2).size() == 3);
  CHECK(batch_elements("[{},{},{},x", 4).empty());
}

TEST_CASE("Message: a key that is read must not stand twice") {
  for (
      const char* text : {
          R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"m"})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","method":"n"})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","\u006dethod":"n"})",
          R"({"jsonrpc":"2.0","id":7,"\u006dethod":"m","m\u0065thod":"n"})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{},"params":{}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"name":"a","n\u0061me":"b"}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{},"_meta":{}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":1}}})",
          R"({"jsonrpc":"2.0","id":7,"result":{"isError":true,"isError":false}})",
          R"({"jsonrpc":"2.0","id":7,"result":{"_meta":{},"\u005fmeta":{}}})",
          R"({"jsonrpc":"2.0","id":7,"error":{"code":1,"code":2}})",
          R"({"jsonrpc":"2.0","id":7,"error":{"data":{"supported":[],"supported":[]}}})",
      }) {
    CAPTURE(text);
    CHECK(verdict(text) == "invalid_request");
    CHECK(raw_id_of_fault(text) == "7");
  }
  CHECK(fault_text(R"({"jsonrpc":"2.0","method":"m","\u006dethod":"n"})") ==
        "the key \"method\" stands twice in one object");
  const char* ids = R"({"jsonrpc":"2.0","id":7,"method":"m","i\u0064":7})";
  CHECK(verdict(ids) == "invalid_request");
  CHECK(raw_id_of_fault(ids).empty());
  // Broken text is not JSON first of all.
  CHECK(verdict(R"({"jsonrpc":"2.0","id":7,"id":8,"method":"m","params":{"name":tru}})") == "not_json");

  for (
      const char* text : {
          R"({"jsonrpc":"2.0","id":7,"method":"m","x":1,"x":2,"params":{"y":1,"y":2,"_meta":{"z":1,"z":2}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"arguments":{"name":1,"name":2,"_meta":1,"_meta":2}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","name":1,"name":2,"_meta":1,"_meta":2})",
      }) {
    CHECK(verdict(text) == "ok");
  }
}

TEST_CASE("Message: keys compare exactly") {
  const Message escaped =
      parse(R"({"jsonrpc":"2.0","\u0069d":1,"\u006dethod":"m","par\u0061ms":{"\u006eame":"n"}})");
  CHECK(escaped.method() == "m");
  CHECK(escaped.raw(Field::id) == "1");
  CHECK(escaped.key_at(Field::id).in(escaped.bytes()) == "\\u0069d");
  CHECK(escaped.text(Field::params_name) == "n");
  const Message others = parse(
      "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"method\\u0000\":\"n\",\"meth\u00f6d\":\"o\",\"param\":{},"
      "\"\":0,\"\\ud800\":0,\"method \":\"q\"}");
  CHECK(others.method() == "m");
  CHECK(others.kind() == MessageKind::notification);
  CHECK_FALSE(others.has(Field::params));
}

TEST_CASE("Message: a key that other decoders take for one that is read is refused") {
  for (
      const char* text : {
          R"({"jsonrpc":"2.0","id":7,"method":"prompts/list","Method":"tools/call"})",
          R"({"jsonrpc":"2.0","id":7,"METHOD":"tools/call","method":"prompts/list"})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","\u004dethod":"n"})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","Params":{}})",
          "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"param\u017f\":{}}",
          R"({"jsonrpc":"2.0","id":7,"method":"m","param\u017f":{}})",
          R"({"JsonRpc":"2.0","jsonrpc":"2.0","id":7,"method":"m"})",
          R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get","Name":"delete"}})",
          R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"NAME":"delete"}})",
          R"({"jsonrpc":"2.0","id":7,"params":{"Arguments":{}},"method":"tools/call"})",
          R"({"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"tas\u212aId":"1"}})",
          R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"ur\u0131":"a:b"}})",
          R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_Meta":{}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"progressToken":1,"progresstoken":2}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"progresstoken":2}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"x/y","params":{"_Meta":{"progressToken":2}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"io.modelcontextprotocol/ProtocolVersion":"1"}}})",
          R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"traceparent":"a","Traceparent":"b"}}})",
          R"({"jsonrpc":"2.0","id":7,"result":{"Tools":[],"tools":[]}})",
          R"({"jsonrpc":"2.0","id":7,"result":{},"Error":{}})",
      }) {
    CAPTURE(text);
    CHECK(verdict(text) == "invalid_request");
    CHECK(raw_id_of_fault(text) == "7");
  }
  CHECK(fault_text(R"({"jsonrpc":"2.0","method":"m","Method":"n"})") ==
        "a key differs from \"method\" in its case alone");
  const char* ids = R"({"jsonrpc":"2.0","id":7,"method":"m","ID":8})";
  CHECK(verdict(ids) == "invalid_request");
  CHECK(raw_id_of_fault(ids).empty());

  for (const char* text : {
           // Unknown methods, a server's own members, and members that are only passed on.
           R"({"jsonrpc":"2.0","id":7,"method":"x/y","params":{"Name":"a","name":"b"}})",
           R"({"jsonrpc":"2.0","id":7,"result":{"Tools":[],"Content":1}})",
           R"({"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m","data":{"Supported":1}}})",
           R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"Traceparent":"a"}}})",
           R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"name":1,"Name":2}}})",
           R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"names":1,"Nam":2,"mane":3}})",
           "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"m\u00e9thod\":1,\"idid\u017f\":2,\"\u017f\":3}",
       }) {
    CAPTURE(text);
    CHECK(verdict(text) == "ok");
  }
}

TEST_CASE("Message: what came before does not change what is found") {
  // Keys in several orders, in levels where they mean something else, twice, with white space and escapes, as
  // the beginnings of others; and each text cut at every byte.
  const std::vector<std::string> texts = {
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"name":"b"},"_meta":{"progressToken":1,"traceparent":"t"}}})",
      R"({"method":"tools/call","params":{"_meta":{"traceparent":"t","progressToken":"p"},"arguments":{},"name":"a"},"jsonrpc":"2.0","id":"x"})",
      R"({"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"io.modelcontextprotocol/subscriptionId":"s","progressToken":2},"name":"no field here"}})",
      R"({"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"m","data":{"supported":[],"message":1}}})",
      R"({ "jsonrpc" :"2.0", "id" : 1 ,"method": "ping" , "params" : {"name" : "a","names":1,"nam":2,"":3} })",
      R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})",
      R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"a","arguments":1,"name":"b"}})",
      R"({"jsonrpc":"2.0","\u0069d":1,"method":"ping","params":{"n\u0061me":"a","uri":"u"}})",
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"jsonrpc":"2.0","id":3,"method":4}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"jsonrpc":"1","_meta":{}}})",
  };
  std::vector<std::string> all = texts;
  for (const std::string& text : texts) {
    for (size_t size = 1; size < text.size(); ++size)
      all.push_back(text.substr(0, size));
  }
  // The result of each on a fresh thread: expectations are kept for each thread.
  std::vector<std::string> alone(all.size());
  for (size_t i = 0; i < texts.size(); ++i)
    std::thread([&, i] { alone[i] = found_in(all[i]); }).join();
  std::thread([&] {
    for (size_t i = texts.size(); i < all.size(); ++i)
      alone[i] = found_in(all[i]);
  }).join();
  // Nor does a key of one level mean anything in another, at its beginning and behind each other key.
  std::thread([] {
    for (const char* params :
         {R"({"jsonrpc":"3","id":2,"method":3})", R"({"_meta":{"jsonrpc":"3","name":1}})",
          R"({"name":"a","jsonrpc":"3"})", R"({"x":1,"jsonrpc":"3"})"}) {
      CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":)" + std::string(params) + "}") ==
            "ok");
    }
  }).join();
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const size_t i = random() % (round % 2 == 0 ? texts.size() : all.size());
    INFO(all[i]);
    REQUIRE(found_in(all[i]) == alone[i]);
  }
}

TEST_CASE("Message: the corpus of bodies") {
  const std::string folder = LINEWARD_SOURCE_DIR "/tests/data/mcp-bodies/";
  int refused = 0, passed = 0;
  for (const auto& row : test::read_index(folder + "index.tsv")) {
    const std::string& file = row[0];
    const std::string& codes = row[3];
    CAPTURE(file);
    const std::string text = test::read_file(folder + file);
    REQUIRE(text.size() == std::stoul(row[6]));
    const bool ours = row[1] == "reject" && (codes.find("-32700") == 0 || codes.find("-32600") == 0) &&
                      file.find("bad-client-") != 0;  // well-formed, only from the wrong side
    const bool mark = file == "bad-bom.json";         // free to choose
    if (!ours && !mark) {
      CHECK(verdict(text) == "ok");
      ++passed;
      continue;
    }
    ++refused;
    const bool not_json = codes.find("-32700") == 0;
    const bool batch = file.find("batch") != std::string::npos;
    CHECK(verdict(text) == kind_name(not_json ? Kind::not_json
                                     : batch  ? Kind::batch
                                              : Kind::invalid_request));
  }
  CHECK(refused == 44);
  CHECK(passed == 66);
}

TEST_CASE("Message: an id has at most 1 KiB, escapes and quotes counted") {
  const auto request = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"m"})";
  };
  const std::string fits = "\"" + std::string(1022, 'a') + "\"";
  CHECK(verdict(request(fits)) == "ok");
  for (const std::string& id : {"\"" + std::string(1023, 'a') + "\"", std::string(1025, '1'),
                                "1." + std::string(1024, '0'), "\"" + std::string(7 << 20, 'a') + "\""}) {
    CHECK(verdict(request(id)) == "invalid_request");
    CHECK(fault_text(request(id)) == "\"id\" must not have more than 1024 bytes");
    CHECK(raw_id_of_fault(request(id)).empty());
  }
  CHECK(verdict(R"({"jsonrpc":"2.0","id":")" + std::string(2000, 'a') + R"(","result":{}})") == "ok");
  CHECK(raw_id_of_fault(R"({"jsonrpc":"2.0","id":")" + std::string(2000, 'a') + R"(","method":1})").empty());
  CHECK(raw_id_of_fault(R"({"jsonrpc":"2.0","id":)" + fits + R"(,"method":1})") == fits);
}

TEST_CASE("Message: an object that is looked at has a bounded number of members; others have not") {
  const auto members = [](size_t count) {
    std::string out = "{";
    for (size_t i = 0; i < count; ++i)
      out += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
    return out + "}";
  };
  const auto answer = [](const std::string& result) {
    return R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}";
  };
  CHECK(verdict(answer(members(mcp::kMaxMembers))) == "ok");
  CHECK(verdict(answer(members(mcp::kMaxMembers + 1))) == "invalid_request");
  CHECK(fault_text(answer(members(mcp::kMaxMembers + 1))) ==
        "an object of the message has more than 16384 members");
  CHECK(verdict(answer(R"({"structuredContent":)" + members(mcp::kMaxMembers + 1) + "}")) == "ok");
}

TEST_CASE("Message: a long text that came in one piece is walked as one that arrived") {
  const std::string large = "\"" + std::string(300000, 'x') + "\"";
  const Message message =
      parse(R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":)" + large + "}]}}");
  CHECK(message.raw(Field::result_content).size() > large.size());
  CHECK(message.bytes_to_walk(Field::result_content) < 100);
  CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"result":[)" + large + "}}") == "not_json");
  CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"result":[)" + large + ",\"\xff\"]}") == "not_json");
}

TEST_CASE("each method is found by its name, and others are none of them") {
  for (const mcp::MethodRow& row : mcp::kMethods) {
    INFO(row.name);
    CHECK(mcp::method_of(row.name) == row.method);
    CHECK(mcp::method_of(std::string(row.name) + "x") == mcp::Method::other);
    CHECK(mcp::method_of(row.name.substr(1)) == mcp::Method::other);
  }
  for (const char* other : {"", "a", "ab", "abc", "tools/lisT", "notifications/unknown"})
    CHECK(mcp::method_of(other) == mcp::Method::other);
}

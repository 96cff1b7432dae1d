// The views of a legacy client and a modern server of each other (behaviour.md 10).
#include <catch2/catch.hpp>

#include "foundation/json/json_member.h"
#include "protocol/mcp/modern_server.h"
#include "unit/foundation/json/json_gen.h"
#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::mcp;

namespace {

std::string result(const std::string& members) {
  return R"({"jsonrpc":"2.0","id":7,"result":)" + members + "}";
}

LegacyClient client(const std::string& params) {
  return read_initialize_params(
      parse(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":)" + params + "}"));
}

const LegacyClient kClient = client(
    R"({"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}})");

const std::string kEnvelope =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
    R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"info")";

std::string projected(const std::string& text, Method method, const std::string& tool = {}) {
  WrappedTools wrapped;
  const auto answer = modern_answer_for_legacy(parse(text), method, tool, wrapped);
  return answer ? answer->bytes : text;
}

}  // namespace

TEST_CASE("initialize: what the client says, without tasks of either kind") {
  LegacyClient c = client(
      R"({"protocolVersion":"2025-03-26","clientInfo":{"name":"c"},"capabilities":{"tasks":{"list":{}},"sampling":{"tools":{}},)"
      R"("extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{"n":1.0}}}})");
  CHECK(c.revision == "2025-03-26");
  CHECK(c.info == R"({"name":"c"})");
  CHECK(c.capabilities == R"({"sampling":{"tools":{}},"extensions":{"a/b":{"n":1.0}}})");
  CHECK(c.log_level == "info");
  for (const char* version : {"2024-11-05", "2026-07-28", "2030-01-01", "x"})
    CHECK(client(R"({"protocolVersion":")" + std::string(version) + R"("})").revision == "2025-11-25");
  CHECK(client(R"({"protocolVersion":"2025-06-18"})").capabilities == "{}");
}

TEST_CASE("discover: capabilities of the old shape, nothing lost but tasks") {
  auto server = read_discover_result(parse(result(
      R"({"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{"listChanged":true},)"
      R"("resources":{"subscribe":true},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"instructions":"a\"b",)"
      R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}})")));
  REQUIRE(server);
  CHECK(server->tools_list_changed);
  CHECK_FALSE(server->resources_list_changed);
  CHECK(server->resources_subscribe);
  CHECK(server->logging);
  CHECK(
      initialize_answer(*server, kClient) ==
      R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},)"
      R"("resources":{"subscribe":true},"logging":{},"extensions":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"a\"b"}})");
  CHECK_FALSE(
      read_discover_result(parse(result(R"({"supportedVersions":["2025-11-25"],"capabilities":{}})"))));
  CHECK_FALSE(read_discover_result(parse(result("{}"))));
}

TEST_CASE("requests: the envelope is complete wherever it has to be put") {
  auto made = [](const std::string& text) { return legacy_message_for_modern(parse(text), kClient); };
  CHECK(made(R"({"jsonrpc":"2.0","id":1,"method":"x"})") ==
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{)" + kEnvelope + "}}}");
  CHECK(made(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{}})") ==
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{)" + kEnvelope + "}}}");
  // A list without a level requests none: it can be shared with others'.
  std::string list = made(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  CHECK(list.find("clientCapabilities") != std::string::npos);
  CHECK(list.find("logLevel") == std::string::npos);
  CHECK(made(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{},"a":1.0}})") ==
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{)" + kEnvelope + R"(},"a":1.0}})");
  CHECK(made(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"t","k":null}}})") ==
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{)" + kEnvelope +
            R"(,"progressToken":"t","k":null}}})");
  CHECK(made(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":7}})") ==
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{)" + kEnvelope + "}}}");
}

TEST_CASE("requests: what a legacy client has no business to send is cut") {
  std::string made = legacy_message_for_modern(
      parse(
          R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","task":{"ttl":1},"requestState":"forged",)"
          R"("inputResponses":{},"_meta":{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/clientInfo":{}}}})"),
      kClient);
  Message message = parse(made);
  CHECK_FALSE(message.has(Field::params_task));
  CHECK_FALSE(message.has(Field::params_request_state));
  CHECK_FALSE(message.has(Field::params_input_responses));
  CHECK(message.raw(Field::params_meta) == "{" + kEnvelope + "}");
}

TEST_CASE("retries: answers under their keys, the state byte for byte") {
  InputRetry retry{{{"a\"b", R"({"action":"cancel"})"}, {"c", "{}"}}, R"("\u0041")"};
  Message message = parse(legacy_message_for_modern(
      parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}})"), kClient, &retry));
  CHECK(message.raw(Field::params_request_state) == R"("\u0041")");
  CHECK(message.raw(Field::params_input_responses) == R"({"a\"b":{"action":"cancel"},"c":{}})");
  retry = {};
  message = parse(legacy_message_for_modern(
      parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}})"), kClient, &retry));
  CHECK_FALSE(message.has(Field::params_request_state));
  CHECK_FALSE(message.has(Field::params_input_responses));
}

TEST_CASE("input required: what cannot be served says why") {
  auto read = [](const std::string& members) {
    return read_input_required(parse(result(R"({"resultType":"input_required")" + members + "}")), 2);
  };
  CHECK(read("").fault == "an input_required result with neither inputRequests nor requestState");
  CHECK(read(R"(,"inputRequests":{})").fault ==
        "an input_required result with neither inputRequests nor requestState");
  CHECK(read(R"(,"requestState":7)").fault == "a requestState that is no string");
  CHECK(read(R"(,"inputRequests":[])").fault == "inputRequests that are no object");
  CHECK(read(R"(,"inputRequests":{"a":{"method":"tools/call"}})").fault ==
        "an input request of a kind that does not exist");
  CHECK(read(R"(,"inputRequests":{"a":{"method":"elicitation/create"}})").fault ==
        "an input request without parameters");
  CHECK(read(R"(,"inputRequests":{"a":{"method":"roots/list"},"\u0061":{"method":"roots/list"}})").fault ==
        "two input requests under one key");
  CHECK(read(R"(,"inputRequests":{"a":7})").fault == "an input request of a kind that does not exist");
  CHECK(
      read(
          R"(,"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"},"c":{"method":"roots/list"}})")
          .fault == "more than 2 input requests at once");
  InputRequired good =
      read(R"(,"requestState":"s","inputRequests":{"a":{"method":"roots/list","params":{"x":1.0}}})");
  CHECK(good.fault.empty());
  CHECK(good.state == R"("s")");
  REQUIRE(good.requests.size() == 1);
  CHECK(question_for_legacy(good.requests[0], 5, "2025-11-25", "") ==
        R"({"jsonrpc":"2.0","id":5,"method":"roots/list","params":{"x":1.0}})");
}

TEST_CASE("questions: elicitation as each revision knows it") {
  InputRequest url{"k", "elicitation/create", R"({"mode":"url","url":"https://x","message":"m"})"};
  CHECK(
      question_for_legacy(url, 1, "2025-11-25", "e1") ==
      R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"elicitationId":"e1","mode":"url","url":"https://x","message":"m"}})");
  InputRequest form{"k", "elicitation/create", R"({"mode":"form","message":"m"})"};
  CHECK(question_for_legacy(form, 1, "2025-11-25", "") ==
        R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"m"}})");
  CHECK(question_for_legacy(form, 1, "2025-06-18", "") ==
        R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m"}})");
  CHECK(question_for_legacy({"k", "roots/list", ""}, 1, "2025-06-18", "") ==
        R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})");
}

TEST_CASE("answers: what old clients read stays byte for byte") {
  for (
      const std::string& text : {
          result(
              R"({ "resultType" : "complete", "content" : [ ], "structuredContent": {"a":1.0}, "ttlMs": 5 })"),
          result(R"({"tools":[{"name":"a","outputSchema":{"type":"object","x":1e400}}]})"),
          result(R"({"tools":7})"),
          std::string(R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"m"}})"),
      }) {
    CHECK(projected(text, Method::tools_list) == text);
    CHECK(projected(text, Method::tools_call, "a") == text);
    CHECK(projected(text, Method::other) == text);
  }
}

TEST_CASE("answers: a tool with a wrapped schema returns wrapped values, others if they are no object") {
  WrappedTools wrapped;
  const auto list = modern_answer_for_legacy(
      parse(result(
          R"({"tools":[{"name":"list","outputSchema":{"type":"array"}},{"name":"plain","outputSchema":{"type":"object"}},)"
          R"({"name":"either","outputSchema":{"anyOf":[{"type":"object"}]}},{"name":"none"}]})")),
      Method::tools_list, "", wrapped);
  REQUIRE(list.has_value());
  CHECK(
      list->bytes ==
      result(
          R"({"tools":[{"name":"list","outputSchema":{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]}},)"
          R"({"name":"plain","outputSchema":{"type":"object"}},)"
          R"({"name":"either","outputSchema":{"type":"object","properties":{"result":{"anyOf":[{"type":"object"}]}},"required":["result"]}},)"
          R"({"name":"none"}]})"));
  CHECK((wrapped.size() == 2 && wrapped.contains("either") && wrapped.contains("list")));
  auto call = [&](const std::string& tool, const std::string& content) {
    const std::string given = result(R"({"content":[],"structuredContent":)" + content + "}");
    const auto changed = modern_answer_for_legacy(parse(given), Method::tools_call, tool, wrapped);
    Message answer = parse(changed ? changed->bytes : given);
    return std::string(*json::member(answer.raw(Field::result), "structuredContent"));
  };
  CHECK(call("list", "[1.0]") == R"({"result":[1.0]})");
  CHECK(call("either", R"({"a":1})") == R"({"result":{"a":1}})");
  CHECK(call("plain", R"({"a":1})") == R"({"a":1})");
  CHECK(call("unlisted", "null") == R"({"result":null})");
  // The list is new: the tool is another one.
  CHECK_FALSE(modern_answer_for_legacy(parse(result(R"({"tools":[{"name":"either"}]})")), Method::tools_list,
                                       "", wrapped));
  CHECK(call("either", R"({"a":1})") == R"({"a":1})");
}

TEST_CASE("errors: codes that old clients do not know say in words what is wrong") {
  Message error = parse(projected(
      R"({"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"No","data":{"requiredCapabilities":{"sampling":{},"roots":{}}}}})",
      Method::tools_call));
  CHECK(error.raw(Field::error_code) == "-32021");
  CHECK(error.text(Field::error_message) ==
        "No (the server needs what this client did not declare at initialize: sampling roots)");
  CHECK(error.raw(Field::error_data) == R"({"requiredCapabilities":{"sampling":{},"roots":{}}})");
  std::string missing =
      R"({"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"a:b"}}})";
  CHECK(
      projected(missing, Method::resources_read) ==
      R"({"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"a:b"}}})");
  CHECK(projected(missing, Method::tools_call) == missing);
}

TEST_CASE("listens: notifications lose their subscription id and nothing else") {
  CHECK(
      listen_notification_for_legacy(parse(
          R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a","_meta":{"io.modelcontextprotocol/subscriptionId":4}}})")) ==
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}})");
  CHECK(
      listen_notification_for_legacy(parse(
          R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4}}})")) ==
      R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}})");
  CHECK(
      listen_notification_for_legacy(parse(
          R"({"jsonrpc":"2.0","method":"x","params":{"_meta":{"a":1.0,"io.modelcontextprotocol/subscriptionId":"4"}}})")) ==
      R"({"jsonrpc":"2.0","method":"x","params":{"_meta":{"a":1.0}}})");
}

TEST_CASE("result types: what the client did not ask to know is invalid") {
  auto known = [](const std::string& type, const std::string& capabilities) {
    LegacyClient c;
    c.capabilities = capabilities;
    return is_known_result(parse(result(R"({"resultType":)" + type + "}")), c);
  };
  CHECK(known(R"("complete")", "{}"));
  CHECK(is_known_result(parse(result("{}")), kClient));
  CHECK_FALSE(known(R"("task")", "{}"));
  CHECK_FALSE(known(R"("com.example/x")", "{}"));
  CHECK_FALSE(known("7", R"({"extensions":{}})"));
  CHECK(known(R"("com.example/x")", R"({"extensions":{"com.example/x":{}}})"));
  CHECK_FALSE(known(R"("task")", R"({"extensions":{"com.example/x":{}}})"));
}

TEST_CASE("projection: random results stay valid JSON, and change in the wrapped place only") {
  test::JsonGen gen(7);
  for (int round = 0; round < 3000; ++round) {
    gen.pretty = round % 2 == 0;
    std::string content = gen.value(4), other = gen.value(4);
    std::string text =
        result(R"({"a":)" + other + R"(, "structuredContent":)" + content + R"( ,"b":)" + other + "}");
    std::string expected = text;
    if (content.front() != '{')
      expected = result(R"({"a":)" + other + R"(, "structuredContent":{"result":)" + content + R"(} ,"b":)" +
                        other + "}");
    CHECK(projected(text, Method::tools_call, "t") == expected);

    std::string list = projected(result(R"({"tools":[{"name":)" + gen.string() + R"(,"outputSchema":)" +
                                        content + R"(},)" + other + "]}"),
                                 Method::tools_list);
    CHECK(json::validate(list) == json::Fault::none);
    std::string question =
        R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":)" + other + R"(,"k":)" + content + "}}";
    std::string made = legacy_message_for_modern(parse(question), kClient);
    Message message = parse(made);
    CHECK(message.text(Field::meta_protocol_version) == "2026-07-28");
    CHECK(json::member(message.raw(Field::params), "k") == content);
  }
}

#include "plugins/hook/hook_answer.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward;
using namespace lineward::plugins;

TEST_CASE("a hook's verdicts") {
  CHECK(read_hook_answer(R"({"verdict":"proceed"})")->kind == HookAnswer::Kind::proceed);
  CHECK_FALSE(read_hook_answer(R"({"verdict":"proceed"})")->message);
  auto changed = read_hook_answer(
      R"({"verdict":"proceed","message":{"jsonrpc":"2.0","id":1,"method":"x"},"headers":{"X-A":"b","Host":"h","X-B":"a\nb"}})");
  REQUIRE(changed);
  CHECK(changed->message->method() == "x");
  CHECK(changed->headers == std::vector<std::pair<std::string, std::string>>{{"X-A", "b"}});
  auto refused = read_hook_answer(
      R"({"verdict":"refuse","reason":"rate_limited","retryAfterMs":5,"error":{"code":-5,"message":"a\nb"}})");
  REQUIRE(refused);
  CHECK(refused->refusal.reason == mcp::EndReason::rate_limited);
  CHECK(refused->refusal.code == -5);
  CHECK(refused->refusal.retry_after_ms == 5);
  CHECK(refused->refusal.text == "a b");
  CHECK(read_hook_answer(R"({"verdict":"refuse"})")->refusal.text == "refused");
  CHECK(read_hook_answer(R"({"verdict":"answer","result":{"a":1}})")->result == R"({"a":1})");
  CHECK(read_hook_answer(R"({"verdict":"answer","message":{"result":{}}})")->result == "{}");
}

TEST_CASE("what makes no sense is no verdict") {
  for (const char* bad : {"{}", "[]", "null", R"({"verdict":1})", R"({"verdict":"Proceed"})",
                          R"({"verdict":"proceed","message":{}})", R"({"verdict":"proceed","message":"x"})",
                          R"({"verdict":"answer"})", R"({"verdict":"answer","result":[]})",
                          R"({"verdict":"refuse","reason":"ok"})"})
    CHECK_FALSE(read_hook_answer(bad));
}

TEST_CASE("a message as deep as messages may be is heard with what is around it") {
  const auto deep = [](size_t levels) {
    return R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"a":)" + std::string(levels - 2, '[') +
           std::string(levels - 2, ']') + "}}";
  };
  for (const size_t levels : {3, 127, 128, 129, 512, 1024}) {
    CAPTURE(levels);
    const auto answer =
        read_hook_answer(R"({"message":)" + deep(levels) + R"(,"verdict":"proceed","headers":{"X-A":"b"}})");
    REQUIRE(answer);
    REQUIRE(answer->message);
    CHECK(answer->message->bytes() == deep(levels));
    CHECK(answer->headers.size() == 1);
  }
}

#include "plugins/hook/hook_answer.h"

#include <catch2/catch.hpp>

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

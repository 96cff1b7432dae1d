#include "plugins/common/task_book.h"

#include <catch2/catch.hpp>
#include <string>

#include "foundation/base/memory_charge.h"
#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::plugins;
using mcp::parse;

namespace {

void made(const std::string& server, const std::string& tool, const std::string& id, bool modern = false) {
  plugin::RequestInfo facts;
  facts.method = mcp::Method::tools_call;
  facts.upstream = server;
  facts.target = tool;
  const std::string task = R"("taskId":")" + id + R"(","status":"working")";
  tasks::note(facts, parse(R"({"jsonrpc":"2.0","id":1,"result":)" +
                           (modern ? "{" + task + "}}" : R"({"task":{)" + task + "}}}")));
}

using Tools = std::vector<std::string>;

}  // namespace

TEST_CASE("a task belongs to the tool of its call, on its server") {
  made("book-a", "add", "t1");
  made("book-a", "sub", "t2", true);
  CHECK(tasks::tools_of("book-a", "t1") == Tools{"add"});
  CHECK(tasks::tools_of("book-a", "t2") == Tools{"sub"});
  CHECK(tasks::tools_of("book-b", "t1").empty());
  CHECK(tasks::tools_of("book-a", "t3").empty());
  CHECK(tasks::is_of_others("book-a", "t1", {"s*"}));
  CHECK_FALSE(tasks::is_of_others("book-a", "t2", {"s*"}));
  CHECK_FALSE(tasks::is_of_others("book-a", "t3", {"s*"}));
}

TEST_CASE("an id that is given again may be of either tool; of too many, of any") {
  made("book-c", "add", "1");
  made("book-c", "add", "1");
  made("book-c", "admin", "1");
  CHECK(tasks::tools_of("book-c", "1") == Tools{"add", "admin"});
  CHECK_FALSE(tasks::is_of_others("book-c", "1", {"admin"}));
  for (int i = 0; i < 20; ++i)
    made("book-c", "tool" + std::to_string(i), "1");
  CHECK(tasks::tools_of("book-c", "1").empty());
  made("book-c", "add", "1");
  CHECK(tasks::tools_of("book-c", "1").empty());
}

TEST_CASE("the book is bounded, and counted") {
  const uint64_t before = MemoryCharge::total();
  made("book-d", "first", "first");
  for (size_t i = 0; i < tasks::kMaxTasks; ++i)
    made("book-d", "add", std::to_string(i));
  CHECK(tasks::tools_of("book-d", "first").empty());
  CHECK(tasks::tools_of("book-d", "7") == Tools{"add"});
  CHECK(MemoryCharge::total() > before);
  CHECK(MemoryCharge::total() - before < 8 << 20);
  made("book-d", std::string(10000, 'x'), "long");
  CHECK(tasks::tools_of("book-d", "long").empty());
}

TEST_CASE("the tasks that a request names, however often") {
  using mcp::Method;
  const auto names = [](Method method, const std::string& params) {
    return tasks::named(method, parse(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + params + "}"));
  };
  CHECK(names(Method::tasks_get, R"({"taskId":"\u0061"})") == Tools{"a"});
  CHECK(names(Method::tasks_result, "{}") == Tools{""});
  CHECK(names(Method::tasks_cancel, R"({"taskId":["a"]})") == Tools{""});
  CHECK(names(Method::subscriptions_listen,
              R"({"notifications":{"taskIds":["a","b"],"t\u0061skIds":["c"]}})") == Tools{"a", "b", "c"});
  CHECK(names(Method::tools_call, R"({"taskId":"a"})").empty());
}

#include "proxy/core/mirrors.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using namespace lineward::core;
using mcp::Method;
using mcp::parse;

namespace {

const SharedFields kRegion{{"Mcp-Param-Region", "us"}, {"X-Team", "blue"}};
const SharedFields kTeam{{"X-Team", "blue"}};

std::string call(const std::string& params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{)" + params + "}}";
}

// The remaining headers once plugins have made `after` of `before`; none: Lineward makes none anew.
std::optional<HeaderFields> dropped(Method method, const std::string& before, const std::string& after,
                                    SharedFields headers, bool made_by_client = true) {
  const Mirrors mirrors(made_by_client, method, parse(before), headers);
  if (!mirrors.drop_stale(parse(after), headers)) return std::nullopt;
  return HeaderFields(static_cast<const HeaderFields&>(headers));
}

std::optional<HeaderFields> dropped(const std::string& before, const std::string& after,
                                    const SharedFields& headers, bool made_by_client = true) {
  return dropped(Method::tools_call, call(before), call(after), headers, made_by_client);
}

}  // namespace

TEST_CASE(
    "headers that repeat arguments are a client's own as long as tool and arguments are as it sent them") {
  const std::string sent = R"("name":"t","arguments":{"region":"us"})";
  CHECK_FALSE(dropped(sent, sent, kRegion));
  CHECK_FALSE(dropped(sent, sent + R"(,"_meta":{"traceparent":"00-1"})", kRegion));
  CHECK_FALSE(dropped(sent, R"( "arguments":{"region":"us"}, "name":"t")", kRegion));
  const HeaderFields others = kTeam;
  CHECK(dropped(sent, R"("name":"t","arguments":{"region":"eu"})", kRegion) == others);
  CHECK(dropped(sent, R"("name":"u","arguments":{"region":"us"})", kRegion) == others);
  CHECK(dropped(sent, R"("name":"t")", kRegion) == others);
  CHECK_FALSE(dropped(sent, R"("name":"u")", kRegion, false));
}

TEST_CASE("a client that had nothing to repeat leaves to Lineward what a plugin has put in") {
  const HeaderFields others = kTeam;
  CHECK(dropped(R"("name":"t","arguments":{})", R"("name":"t","arguments":{"region":"us"})", kTeam) ==
        others);
  CHECK(dropped(R"("name":"t")", R"("name":"u")", {}) == HeaderFields());
  CHECK_FALSE(dropped(R"("name":"t")", R"("name":"t","_meta":{})", {}));
}

TEST_CASE(
    "of other methods than tools/call the headers that are there are dropped with any change but of _meta") {
  auto other = [](const std::string& params) {
    return R"({"jsonrpc":"2.0","id":1,"method":"com.example/do","params":{)" + params + "}}";
  };
  const std::string sent = R"("region":"us","_meta":{"a":1},"n":2)";
  const Method method = Method::other;
  CHECK_FALSE(
      dropped(method, other(sent), other(R"("region":"us","_meta":{"traceparent":"00-1"},"n":2)"), kRegion));
  CHECK(dropped(method, other(sent), other(R"("region":"eu","_meta":{"a":1},"n":2)"), kRegion));
  CHECK(dropped(method, other(sent), other(R"("region":"us","_meta":{"a":1},"n":3)"), kRegion));
  CHECK_FALSE(dropped(method, other(sent), other(R"("region":"eu")"), kTeam));
}

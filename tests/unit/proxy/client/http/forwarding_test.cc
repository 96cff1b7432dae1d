#include "proxy/client/http/forwarding.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::client;

namespace {

http::HeaderList list(const std::vector<std::pair<const char*, const char*>>& fields) {
  http::HeaderList out;
  for (const auto& [name, value] : fields)
    out.add(name, value);
  return out;
}

std::string names(const core::HeaderFields& fields) {
  std::string out;
  for (const auto& field : fields)
    out += (out.empty() ? "" : " ") + field.first + "=" + field.second;
  return out;
}

config::ForwardRules rules(std::vector<std::string> forward, bool sidecar = false) {
  config::Server server;
  server.url = "http://127.0.0.1/mcp";
  server.forward_headers = std::move(forward);
  return {server, sidecar};
}

}  // namespace

TEST_CASE("what Connection names stays here") {
  auto headers = list({{"Connection", "close, X-Secret"},
                       {"X-Secret", "1"},
                       {"X-Open", "2"},
                       {"connection", "x-third"},
                       {"X-Third", "3"}});
  CHECK(names(headers_to_forward(headers, rules({"X-*"}), Mirrored::yes)) == "X-Open=2");
}

TEST_CASE("Connection has no say over Mcp headers") {
  auto headers = list({{"Connection", "Mcp-Param-Region"},
                       {"mcp-param-region", "eu"},
                       {"Mcp-Name", "n"},
                       {"Mcp-Method", "tools/call"},
                       {"Mcp-Session-Id", "s"}});
  CHECK(names(headers_to_forward(headers, rules({}), Mirrored::yes)) == "mcp-param-region=eu Mcp-Name=n");
  CHECK(names(headers_to_forward(headers, rules({}), Mirrored::no)).empty());
}

TEST_CASE("the cookie that names state stays, and the others go on") {
  const auto passed = [](const char* cookie) {
    return names(headers_to_forward(list({{"Cookie", cookie}}), rules({"Cookie"}), Mirrored::yes));
  };
  CHECK(passed("lineward-session=build-4711.5d2b9c0e").empty());
  CHECK(passed("theme=dark;lineward-session=\"x\" ; a=b=c") == "Cookie=theme=dark; a=b=c");
  CHECK(passed("lineward-session=1; lineward-session=2;").empty());
  // Others stay as they are.
  CHECK(passed("a=1;;b ;Lineward-Session=2; x-lineward-session=3") ==
        "Cookie=a=1;;b ;Lineward-Session=2; x-lineward-session=3");
}

TEST_CASE("two credentials are none") {
  CHECK(names(headers_to_forward(list({{"Authorization", "a"}}), rules({}, true), Mirrored::yes)) ==
        "Authorization=a");
  CHECK(names(headers_to_forward(list({{"Authorization", "a"}, {"authorization", "b"}}), rules({}, true),
                                 Mirrored::yes))
            .empty());
}

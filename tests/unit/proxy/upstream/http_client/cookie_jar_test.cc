// The cookies of an upstream session.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "proxy/upstream/http_client/cookie_jar.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

void set(CookieJar& jar, const std::vector<std::string>& cookies, const std::string& url = "http://h/a/mcp") {
  auto parsed = parse_http_url(url);
  REQUIRE(parsed);
  http::HeaderList response;
  for (const std::string& cookie : cookies)
    response.add("set-cookie", cookie);
  jar.take(response, *parsed);
}

}  // namespace

TEST_CASE("a cookie goes back until its server deletes it") {
  CookieJar jar;
  CHECK(jar.empty());
  set(jar, {"route=a; Path=/; HttpOnly; SameSite=Lax", "x=1"});
  CHECK(jar.header() == "route=a; x=1");
  set(jar, {"route=b"});
  CHECK(jar.header() == "x=1; route=b");
  set(jar, {"x=; Max-Age=0", "route=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"});
  CHECK(jar.empty());
}

TEST_CASE("a cookie for another path, or for TLS alone, is not kept; nor is one that is malformed") {
  CookieJar jar;
  set(jar, {"a=1; Path=/b", "b=1; Path=/a/m", "c=1; Secure", "=1", "d", "e=a\x01", "f=1 2", "g=\"q\""});
  CHECK(jar.empty());
  set(jar, {"a=1; Path=/a", "b=1; Path=/a/mcp", "c=1; Path=/a/"});
  CHECK(jar.header() == "a=1; b=1; c=1");
  CookieJar secure;
  set(secure, {"c=1; Secure"}, "https://h/mcp");
  CHECK(secure.header() == "c=1");
}

TEST_CASE("there are 16 cookies and 4 KiB of them at most") {
  CookieJar jar;
  for (int i = 0; i < 40; ++i)
    set(jar, {"n" + std::to_string(i) + "=1"});
  CHECK(jar.header().find("n15=1") != std::string::npos);
  CHECK(jar.header().find("n16=1") == std::string::npos);
  CookieJar large;
  set(large, {"a=" + std::string(4000, 'x'), "b=" + std::string(100, 'x')});
  CHECK(large.header().size() == 4002);
}

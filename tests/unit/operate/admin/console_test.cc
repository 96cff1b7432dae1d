#include "operate/admin/console.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "foundation/net/loop.h"
#include "operate/admin/console_logins.h"
#include "operate/admin/console_page.h"

using namespace lineward;
using namespace lineward::admin;

namespace {

size_t times(const std::string& text, std::string_view what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++out;
  return out;
}

http::HeaderList headers(std::initializer_list<std::pair<const char*, const char*>> list) {
  http::HeaderList out;
  for (const auto& [name, value] : list)
    out.add(name, value);
  return out;
}

// The API's view of a gateway with one server and one call, with names from outside.
ConsoleView view_of(const std::string& name, Role role) {
  ConsoleView view;
  view.role = role;
  view.form_token = "7.seal";
  view.status = {{"draining", false}, {"url", name}};
  view.servers["servers"] = {{{"name", name}, {"kind", "stdio"}, {"stderr", {{{"line", name}}}}}};
  view.calls["calls"] = {{{"id", "c1"}, {"upstream", name}, {"target", name}, {"client", name}}};
  view.log["lines"] = {{{"line", {{"event", name}, {name, name}}}}};
  view.story = {{"id", "c1"}, {"target", name}};
  view.note = name;
  return view;
}

}  // namespace

TEST_CASE("a login is a random name for the digest of a token, and can be closed") {
  net::Loop loop;
  ConsoleLogins logins(loop);
  const std::string one = logins.open("a-token-of-many-letters"),
                    other = logins.open("a-token-of-many-letters");
  CHECK(one != other);
  CHECK(one.size() >= 32);
  CHECK(logins.digest_of(one) == ConsoleLogins::digest("a-token-of-many-letters"));
  CHECK(logins.digest_of(one)->find("token") == std::string::npos);
  CHECK_FALSE(logins.digest_of(""));
  CHECK_FALSE(logins.digest_of(one.substr(1)));
  logins.close(one);
  CHECK_FALSE(logins.digest_of(one));
  CHECK(logins.digest_of(other));
}

TEST_CASE("logins are bounded, and a token logs out only its own login") {
  net::Loop loop;
  ConsoleLogins logins(loop);
  const std::string operates = logins.open("the-operator");
  const std::string first = logins.open("the-reader");
  std::set<std::string> readers{first};
  for (int i = 0; i < 10'000; ++i)
    readers.insert(logins.open("the-reader"));
  CHECK(logins.digest_of(operates));
  CHECK_FALSE(logins.digest_of(first));
  size_t alive = 0;
  for (const std::string& one : readers)
    alive += logins.digest_of(one) ? 1 : 0;
  CHECK(alive == ConsoleLogins::kMost - 1);
}

TEST_CASE("the token of a form is of one login, and cannot be made up") {
  net::Loop loop;
  ConsoleLogins logins(loop), of_another_process(loop);
  const std::string token = logins.form_token("login-1");
  CHECK(logins.takes(token, "login-1"));
  CHECK_FALSE(logins.takes(token, "login-2"));
  CHECK_FALSE(logins.takes(token, ""));
  CHECK_FALSE(of_another_process.takes(token, "login-1"));
  const std::string seal = token.substr(token.find('.') + 1);
  for (const std::string& bad :
       {std::string(), std::string("."), seal, "." + seal, "x" + token, token + "x", "999999." + seal,
        "-1." + seal, token.substr(0, token.size() - 1), "99999999999999999999999." + seal, "1 ." + seal})
    CHECK_FALSE(logins.takes(bad, "login-1"));
}

TEST_CASE("the cookie is named by the port of the request's Host, and found among others") {
  CHECK(login_cookie_name("gw.example") == "lineward_console");
  CHECK(login_cookie_name("127.0.0.1:8001") == "lineward_console_8001");
  CHECK(login_cookie_name("[::1]:8001") == "lineward_console_8001");
  CHECK(login_cookie_name("[::1]") == "lineward_console");
  CHECK(login_cookie_name("h:80;x") == "lineward_console");
  CHECK(cookie_of(headers({{"Cookie", "a=1;  b=2 ; c"}}), "b") == "2");
  CHECK(cookie_of(headers({{"Cookie", "xb=1; b=x=y"}}), "b") == "x=y");
  CHECK(cookie_of(headers({{"Cookie", "c"}}), "c").empty());
  CHECK(cookie_of(headers({}), "b").empty());
  const std::string long_one = std::string(5000, 'a') + "; b=2";
  CHECK(cookie_of(headers({{"Cookie", long_one.c_str()}}), "b").empty());
  CHECK(login_of(headers({{"Host", "h:1"}, {"Cookie", "lineward_console=x; lineward_console_1=y"}})) == "y");
}

TEST_CASE("no name of a server, a tool or a client becomes a part of the page") {
  const std::string plain = console_page(view_of("x", Role::operate));
  for (const std::string& name :
       {std::string("</script><script>alert(1)</script>"), std::string("\"><img src=x onerror=alert(1)>"),
        std::string("' onmouseover='x"), std::string("{{servers}}{{url}}"), std::string("&lt;b&gt;")}) {
    const std::string page = console_page(view_of(name, Role::operate));
    INFO(name);
    for (const char* what : {"<script", "<img", "<form", "<b>", "</td>", "\"", "'"})
      CHECK(times(page, what) == times(plain, what));
    CHECK(times(page, html_text(name)) >= times(plain, ">x<"));
  }
}

TEST_CASE("a caller that only reads gets no form but the logout, with a token that is accepted") {
  ConsoleView view = view_of("x", Role::read);
  CHECK(times(console_page(view), "<form method=\"post\"") == 0);
  view.logged_in = true;
  const std::string page = console_page(view);
  CHECK(times(page, "<form method=\"post\"") == 1);
  const size_t form = page.find("action=\"console/logout\"");
  REQUIRE(form != std::string::npos);
  CHECK(page.find("value=\"7.seal\"", form) != std::string::npos);
  CHECK(times(console_page(view_of("x", Role::operate)), "action=\"console/do\"") == 2);
}

TEST_CASE("a page is made of whatever was answered") {
  ConsoleView view;
  view.status = view.servers = view.calls = nlohmann::json::object();
  CHECK(console_page(view).find("</html>") != std::string::npos);
  view.servers["servers"] = "no list";
  view.calls["calls"] = {{{"id", 5}, {"progress", 7}, {"age_ms", "x"}}};
  view.log["lines"] = nlohmann::json::array();
  CHECK(console_page(view).find("</html>") != std::string::npos);
}

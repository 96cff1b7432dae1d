// URIs of many servers (proxy/aggregate/uris.h): the origin they carry, and the schemes that stay.
#include "proxy/aggregate/uris.h"

#include <catch2/catch.hpp>

using namespace lineward::aggregate;

TEST_CASE("a URI carries its origin, and the way back needs no table") {
  Uris uris(100, 100), fresh(100, 100);
  for (Uris* one : {&uris, &fresh})
    for (const char* server : {"fs", "My_Server", "9lives"})
      one->add_server(server);
  for (const char* server : {"fs", "My_Server", "9lives"}) {
    for (const char* uri :
         {"file:///etc/hosts", "memo://x", "git+ssh://host/a", "no scheme", "file:///{path}", ""}) {
      std::string shown = uris.listed(server, uri);
      CHECK(shown == uris.to_client(server, uri));
      auto back = fresh.to_server(shown);
      REQUIRE(back);
      CHECK(back->server == server);
      CHECK(back->uri == uri);
    }
  }
  CHECK(uris.listed("fs", "file:///etc/hosts") == "fs+file:///etc/hosts");
  CHECK(fresh.to_server("FS+file:///x")->uri == "file:///x");
  CHECK_FALSE(fresh.to_server("file:///etc/hosts"));
  CHECK_FALSE(fresh.to_server("other+file:///etc/hosts"));
}

TEST_CASE("tokens are schemes, and no two servers have the same") {
  CHECK(origin_token("fs") == "fs");
  CHECK(origin_token("my_server") != origin_token("my-server"));
  CHECK(origin_token("Fs") != origin_token("fs"));
  for (const char* server : {"9lives", "-x", "_", "A_b"}) {
    std::string token = origin_token(server);
    CHECK(token.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
    CHECK((token[0] >= 'a' && token[0] <= 'z'));
  }
}

TEST_CASE("schemes that clients rely on stay, until two servers have the same URI") {
  Uris uris(100, 100);
  uris.add_server("a");
  uris.add_server("b");
  CHECK(uris.listed("a", "ui://chart/view.html") == "ui://chart/view.html");
  CHECK(uris.listed("b", "ui://other") == "ui://other");
  CHECK(uris.listed("b", "ui://chart/view.html") == "ui://b+chart/view.html");
  CHECK(uris.listed("a", "https://example.com/x") == "https://example.com/x");
  CHECK(uris.listed("b", "https://example.com/x") == "b+https://example.com/x");
  CHECK(uris.to_server("ui://chart/view.html")->server == "a");
  CHECK(uris.to_server("ui://b+chart/view.html")->server == "b");
  CHECK(uris.to_server("ui://b+chart/view.html")->uri == "ui://chart/view.html");
  CHECK(uris.to_server("b+https://example.com/x")->uri == "https://example.com/x");
  CHECK_FALSE(uris.to_server("https://example.com/y"));
}

TEST_CASE("a URI that came in a result is remembered, the last ones of them") {
  Uris uris(100, 2);
  uris.add_server("a");
  uris.add_server("b");
  CHECK(uris.to_client("a", "https://x/1") == "https://x/1");
  CHECK(uris.to_server("https://x/1")->server == "a");
  CHECK(uris.to_client("b", "https://x/1") == "b+https://x/1");
  CHECK(uris.to_client("b", "https://x/2") == "https://x/2");
  CHECK(uris.to_client("b", "https://x/3") == "https://x/3");
  CHECK_FALSE(uris.to_server("https://x/1"));
  CHECK(uris.to_server("https://x/3")->server == "b");
}

TEST_CASE("the text before the first expression of a template decides the server of an unknown URI") {
  Uris uris(100, 100);
  uris.add_server("a");
  uris.add_server("b");
  CHECK(uris.listed_template("a", "https://example.com/{id}") == "https://example.com/{id}");
  CHECK(uris.listed_template("b", "https://example.org/users/{id}") == "https://example.org/users/{id}");
  CHECK(uris.to_server("https://example.com/7")->server == "a");
  CHECK(uris.to_server("https://example.org/users/7")->server == "b");
  CHECK_FALSE(uris.to_server("https://example.org/7"));
  CHECK_FALSE(uris.to_server("https://elsewhere/7"));
}

TEST_CASE("a template carries its origin if its expansions could be another's") {
  Uris uris(100, 100);
  for (const char* server : {"a", "b", "web"})
    uris.add_server(server);
  CHECK(uris.listed_template("b", "https://{host}/v1") == "b+https://{host}/v1");
  CHECK(uris.listed_template("b", "https://api.{zone}.net/v1") == "b+https://api.{zone}.net/v1");
  CHECK(uris.listed_template("b", "data://{id}") == "b+data://{id}");
  CHECK(uris.listed_template("b", "data:{id}") == "b+data:{id}");
  CHECK(uris.listed_template("b", "ui://{id}") == "ui://b+{id}");
  CHECK(uris.listed_template("b", "ui://x/{id}") == "ui://x/{id}");
  CHECK(uris.listed_template("b", "ui://WE{+id}") == "ui://b+WE{+id}");
  CHECK(uris.listed_template("b", "ui://web+{id}") == "ui://b+web+{id}");
  CHECK(uris.listed_template("b", "ui://WEB+{id}") == "ui://b+WEB+{id}");
  CHECK(uris.listed_template("a", "https://x/{id}") == "https://x/{id}");
  CHECK(uris.listed_template("b", "https://x/{id}") == "b+https://x/{id}");
  CHECK(uris.listed_template("b", "https://x/users/{id}") == "b+https://x/users/{id}");
  CHECK(uris.listed_template("a", "https://x/users/{id}") == "https://x/users/{id}");
  CHECK(uris.listed_template("a", "https://y/users/{id}") == "https://y/users/{id}");
  CHECK(uris.listed_template("b", "https://y/{id}") == "b+https://y/{id}");
  // It is said once, and stays.
  CHECK(uris.listed_template("a", "https://x/{id}") == "https://x/{id}");
  CHECK(uris.listed_template("b", "https://y/{id}") == "b+https://y/{id}");
  CHECK(uris.to_client("b", "https://x/1") == "b+https://x/1");
  CHECK(uris.to_client("a", "https://x/1") == "https://x/1");
  CHECK(uris.listed("a", "ui://web+x") == "ui://a+web+x");
  CHECK(uris.to_client("a", "ui://web+y") == "ui://a+web+y");
}

namespace {

// An expression becomes something that it could be; text without one stays.
std::string expanded(const std::string& uri_template, const std::string& value) {
  std::string out;
  for (size_t at = 0; at < uri_template.size();) {
    size_t open = uri_template.find('{', at);
    size_t close = uri_template.find('}', at);
    if (open == std::string::npos || close == std::string::npos) return out + uri_template.substr(at);
    std::string name = uri_template.substr(open + 1, close - open - 1);
    std::string sign(1, name.empty() ? ' ' : name[0]);
    std::string ahead = std::string("/.;?&#").find(sign) != std::string::npos ? sign : "";
    if (ahead == ";" || ahead == "?" || ahead == "&") ahead += "q=";
    out += uri_template.substr(at, open - at) + ahead + value;
    at = close + 1;
  }
  return out;
}

}  // namespace

// behaviour.md 7
TEST_CASE("one expansion of everything that a list shows leads back to its server") {
  const std::vector<std::string> servers{"a", "b", "web", "My_Server", "9lives"};
  std::vector<std::string> all;
  for (const char* scheme : {"file:", "memo:", "ui:", "UI:", "https:", "HTTPS:", "http:", "data:", "urn:",
                             "git+ssh:", "{scheme}:", ""}) {
    for (const char* slashes : {"", "//"}) {
      for (const char* rest : {"",
                               "{id}",
                               "{+id}",
                               "x",
                               "x/{id}",
                               "x{id}",
                               "x/{a}/{b}",
                               "{host}/v1",
                               "{a}/{b}",
                               "x{/path*}",
                               "x/y/{id}",
                               "x?q={q}",
                               "x{?q}",
                               "x/{#part}",
                               "a+x/{id}",
                               "web+{id}",
                               "we{id}",
                               "WEB+z",
                               "a+{+id}",
                               "text/plain,{text}",
                               "api.{zone}.net/v1",
                               "x:80/{id}",
                               "user@x/{id}",
                               "{",
                               "}",
                               "{}",
                               "x/}{id}"}) {
        all.push_back(std::string(scheme) + slashes + rest);
      }
    }
  }
  all.push_back("https://x/" + std::string(3000, 'y') + "/{id}");
  all.push_back("ui://x/" + std::string(10000, 'y') + "/{id}");
  // In the order of servers, or of URIs; and where the tables are full.
  for (const size_t most : {100000, 3}) {
    for (const bool by_server : {true, false}) {
      Uris uris(most, 100);
      for (const auto& server : servers)
        uris.add_server(server);
      struct Shown {
        std::string server, own, seen;
        bool is_template;
      };
      std::vector<Shown> shown;
      const auto list = [&](const std::string& server, const std::string& uri) {
        shown.push_back({server, uri, uris.listed_template(server, uri), true});
        const std::string resource = expanded(uri, "one");
        shown.push_back({server, resource, uris.listed(server, resource), false});
      };
      if (by_server) {
        for (const auto& server : servers)
          for (const auto& uri : all)
            list(server, uri);
      } else {
        for (const auto& uri : all)
          for (const auto& server : servers)
            list(server, uri);
      }
      for (const Shown& one : shown) {
        INFO(one.server << " " << one.own.substr(0, 100) << " as " << one.seen.substr(0, 100));
        REQUIRE_FALSE(one.seen.empty());
        for (const char* value : {"42", "users", "p%2Fq"}) {
          const auto back = uris.to_server(one.is_template ? expanded(one.seen, value) : one.seen);
          REQUIRE(back);
          CHECK(back->server == one.server);
          CHECK(back->uri == (one.is_template ? expanded(one.own, value) : one.own));
        }
      }
    }
  }
}

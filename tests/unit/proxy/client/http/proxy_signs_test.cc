#include "proxy/client/http/proxy_signs.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "protocol/http/request_parser.h"

using namespace lineward;
using namespace lineward::client;

namespace {

struct HeadSequence {
  // The head of the next request on the connection.
  const http::RequestHead& head(const std::vector<std::string>& fields, const std::string& version = "1.1") {
    std::string text = "GET / HTTP/" + version + "\r\n";
    for (const std::string& field : fields)
      text += field + "\r\n";
    parser.append(text + "\r\n");
    while (parser.next() == http::RequestParser::Next::head) {
    }
    return parser.head();
  }
  bool shared_after(const std::vector<std::string>& fields) {
    sharing.saw(head(fields));
    parser.take_body();
    parser.next_request();
    return sharing.shared();
  }
  http::RequestParser parser{http::RequestLimits()};
  Sharing sharing;
};

const std::string kHost = "Host: 127.0.0.1:8000";

bool directly(const std::vector<std::string>& fields, const std::string& peer = "127.0.0.1:51234",
              const std::string& version = "1.1", uint16_t port = 8000) {
  HeadSequence requests;
  return comes_directly(peer, requests.head(fields, version), port);
}

}  // namespace

TEST_CASE("a client is at the other end where both ends are loopback and Host names this port") {
  CHECK(directly({kHost}));
  CHECK(directly({"Host: localhost:8000"}));
  CHECK(directly({"Host: [::1]:8000"}, "[::1]:51234"));
}

TEST_CASE("the other end of any other connection is unknown") {
  CHECK_FALSE(directly({kHost}, "10.0.0.7:51234"));
  CHECK_FALSE(directly({kHost}, "unix", "1.1", 0));
  CHECK_FALSE(directly({kHost}, "127.0.0.1:51234", "1.0"));
  CHECK_FALSE(directly({"Host: 127.0.0.1:8080"}));
  CHECK_FALSE(directly({"Host: localhost"}));
  CHECK_FALSE(directly({"Host: mcp.example.com:8000"}));
  CHECK_FALSE(directly({"Host: 127.0.0.1:80000"}));
  for (const char* field : {"Via: 1.1 a", "Forwarded: for=192.0.2.7", "X-Forwarded-For: 192.0.2.7",
                            "x-forwarded-proto: https", "X-Real-IP: 192.0.2.7"})
    CHECK_FALSE(directly({kHost, field}));
}

TEST_CASE("one caller's requests leave a connection its own") {
  HeadSequence requests;
  const std::vector<std::string> alice{kHost, "User-Agent: alice/1"};
  CHECK_FALSE(requests.shared_after(alice));
  requests.sharing.opens(true);
  requests.sharing.named("s1");
  CHECK_FALSE(requests.shared_after(alice));
  CHECK_FALSE(requests.shared_after({kHost, "User-Agent: alice/1", "Mcp-Session-Id: s1"}));
  CHECK_FALSE(requests.shared_after(alice));
}

TEST_CASE("a connection is shared from the first request on that cannot be the same caller's") {
  for (const std::string other : {"User-Agent: bob/1", "Authorization: Bearer b", "Host: other"}) {
    HeadSequence requests;
    CHECK_FALSE(requests.shared_after({kHost, "X: 1"}));
    CHECK(requests.shared_after(other.substr(0, 4) == "Host" ? std::vector<std::string>{other}
                                                             : std::vector<std::string>{kHost, other}));
    CHECK(requests.shared_after({kHost, "X: 1"}));  // and stays so
    CHECK(requests.sharing.sign() == "another " + other.substr(0, other.find(':')));
  }
}

TEST_CASE("a second initialize and another session's name are another caller's") {
  HeadSequence twice;
  CHECK_FALSE(twice.shared_after({kHost}));
  twice.sharing.opens(true);
  CHECK_FALSE(twice.sharing.shared());
  twice.sharing.opens(true);
  CHECK(twice.sharing.sign() == "a second initialize");

  HeadSequence named;
  CHECK_FALSE(named.shared_after({kHost, "Mcp-Session-Id: s1"}));
  CHECK(named.shared_after({kHost, "Mcp-Session-Id: s2"}));
  CHECK(named.sharing.sign() == "another Mcp-Session-Id");

  HeadSequence opened;
  CHECK_FALSE(opened.shared_after({kHost}));
  opened.sharing.opens(true);
  opened.sharing.named("s1");
  CHECK(opened.shared_after({kHost, "Mcp-Session-Id: s2"}));

  HeadSequence later;
  CHECK_FALSE(later.shared_after({kHost, "Mcp-Session-Id: s1"}));
  later.sharing.opens(true);
  CHECK(later.sharing.shared());
}

TEST_CASE("a session that Lineward opens again for a caller that names none is no second initialize") {
  HeadSequence requests;
  CHECK_FALSE(requests.shared_after({kHost}));
  requests.sharing.opens(false);
  requests.sharing.opens(false);
  CHECK_FALSE(requests.sharing.shared());
}

TEST_CASE("each connection has a number, which moves with it") {
  const Sharing one, other;
  const Sharing moved = one;
  CHECK(one.number() != other.number());
  CHECK(moved.number() == one.number());
}

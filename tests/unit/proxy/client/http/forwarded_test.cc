#include "proxy/client/http/forwarded.h"

#include <catch2/catch.hpp>

#include "proxy/client/http/trusted_proxies.h"

using namespace lineward;
using namespace lineward::client;
using config::ClientHeader;

namespace {

struct Fields {
  Fields(std::initializer_list<std::pair<const char*, const char*>> all) {
    for (const auto& [name, value] : all)
      list.add(name, value);
  }
  http::HeaderList list;
};

const net::Networks& proxies() {
  static const net::Networks all = *net::Networks::parse({"10.0.0.0/8", "2001:db8:1::/48"});
  return all;
}

ForwardedClient found(const Fields& fields, ClientHeader which = ClientHeader::either) {
  return forwarded_client(fields.list, which, proxies());
}

std::string by_list(const char* value) {
  return found(Fields{{"X-Forwarded-For", value}}).address;
}

std::string by_forwarded(const char* value) {
  return found(Fields{{"Forwarded", value}}).address;
}

}  // namespace

TEST_CASE("the client is the last address that is no trusted proxy's") {
  CHECK(by_list("192.0.2.7") == "192.0.2.7");
  CHECK(by_list("203.0.113.9, 192.0.2.7") == "192.0.2.7");
  CHECK(by_list("203.0.113.9,192.0.2.7 , 10.0.0.2,\t10.0.0.1") == "192.0.2.7");
  CHECK(by_list("192.0.2.7:4711, 10.0.0.2:80") == "192.0.2.7:4711");
  CHECK(by_list("[2001:db8:2::1]:4711") == "[2001:db8:2::1]:4711");
  CHECK(by_list("2001:db8:2::1, 2001:db8:1::9") == "[2001:db8:2::1]");
  CHECK(by_list("[2001:db8:2::1]") == "[2001:db8:2::1]");
  CHECK(by_list("::ffff:192.0.2.7") == "192.0.2.7");
  CHECK(by_list("192.0.2.7, , ") == "192.0.2.7");
}

TEST_CASE("if all are trusted proxies, the client is the first of them") {
  CHECK(by_list("10.0.0.3, 10.0.0.2") == "10.0.0.3");
  CHECK(by_list("").empty());
  CHECK(by_list(", ,").empty());
}

TEST_CASE("nothing is believed that stands left of what is no address") {
  CHECK(by_list("192.0.2.7, unknown").empty());
  CHECK(by_list("192.0.2.7, garbage, 10.0.0.1") == "10.0.0.1");
  for (const char* wrong : {"192.0.2.7 192.0.2.8", "192.0.2", "[192.0.2.7]", "[2001:db8::1", "[2001:db8::1]x",
                            "2001:db8::1]", "fe80::1%eth0", "\"192.0.2.7\"", "localhost", "0x7f.1", "1"})
    CHECK(by_list(wrong).empty());
  CHECK(by_list("192.0.2.7:port") == "192.0.2.7");
  CHECK(by_list("192.0.2.7:99999") == "192.0.2.7");
}

TEST_CASE("Forwarded is read as RFC 7239 writes it, and as it is written") {
  CHECK(by_forwarded("for=192.0.2.7") == "192.0.2.7");
  CHECK(by_forwarded("For=\"192.0.2.7:4711\"") == "192.0.2.7:4711");
  CHECK(by_forwarded("for=\"[2001:db8:2::1]:4711\";proto=https;by=10.0.0.1") == "[2001:db8:2::1]:4711");
  CHECK(by_forwarded("for=192.0.2.43, for=\"[2001:db8:1::17]\";host=a") == "192.0.2.43");
  CHECK(by_forwarded("proto=http; for=192.0.2.7 ;by=10.0.0.1 , for=10.0.0.2") == "192.0.2.7");
  CHECK(by_forwarded("for=192.0.2.7:80, for=[2001:db8:1::1]") == "192.0.2.7:80");
  CHECK(by_forwarded("for=192.0.2.7;;proto=http,") == "192.0.2.7");
  CHECK(by_forwarded("for=\"192.0.2.7:_secret\"") == "192.0.2.7");
  CHECK(by_forwarded("secret=\"a,b;for=9.9.9.9\\\"\";for=192.0.2.7") == "192.0.2.7");
  CHECK(by_forwarded("for=\"192.0.\\2.7\"") == "192.0.2.7");
}

TEST_CASE("a hidden or unknown client of Forwarded is none") {
  for (const char* none : {"for=unknown", "for=_hidden", "proto=https", "for=\"_a:80\"", "for=", "for=\"\"",
                           "for=203.0.113.9, proto=https", "for=203.0.113.9, for=unknown"})
    CHECK(by_forwarded(none).empty());
  CHECK(by_forwarded("for=203.0.113.9, for=unknown, for=10.0.0.1") == "10.0.0.1");
}

TEST_CASE("a client cannot begin a quotation that the proxy's entry ends") {
  for (const char* wrong :
       {"for=203.0.113.9;x=\", for=192.0.2.7", "for=203.0.113.9, x=\", for=\"[2001:db8:2::1]\"",
        "for=203.0.113.9;x=\"\\, for=192.0.2.7", "for=203.0.113.9, \", for=192.0.2.7", "for = 203.0.113.9",
        "for=203.0.113.9 x", "for=203.0.113.9;for=192.0.2.7", "=a", "for", "for=a\"b\"", "for=\"a\"b"})
    CHECK(by_forwarded(wrong).empty());
  // In a field of its own it spoils that one alone.
  Fields two{{"Forwarded", "for=203.0.113.9;x=\""}, {"Forwarded", "for=192.0.2.7"}};
  CHECK(found(two).address == "192.0.2.7");
  Fields behind{{"Forwarded", "for=203.0.113.9;x=\""}, {"Forwarded", "for=10.0.0.1"}};
  CHECK(found(behind).address == "10.0.0.1");
}

TEST_CASE("several fields are one list") {
  CHECK(found(Fields{{"X-Forwarded-For", "192.0.2.7"}, {"x-forwarded-for", "10.0.0.1"}}).address ==
        "192.0.2.7");
  CHECK(found(Fields{{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "192.0.2.7"}}).address ==
        "192.0.2.7");
  CHECK(found(Fields{{"Forwarded", "for=192.0.2.7"}, {"Forwarded", "for=10.0.0.1"}}).address == "192.0.2.7");
}

TEST_CASE("two headers are believed if they agree") {
  const Fields same{{"Forwarded", "for=192.0.2.7"}, {"X-Forwarded-For", "192.0.2.7:4711"}};
  CHECK(found(same).address == "192.0.2.7:4711");
  const Fields differ{{"Forwarded", "for=203.0.113.9"}, {"X-Forwarded-For", "192.0.2.7"}};
  CHECK(found(differ).address.empty());
  CHECK(found(differ).disagrees);
  CHECK(found(differ, ClientHeader::forwarded).address == "203.0.113.9");
  CHECK(found(differ, ClientHeader::x_forwarded_for).address == "192.0.2.7");
  CHECK_FALSE(found(differ, ClientHeader::x_forwarded_for).disagrees);
  // If one of them tells no client, the client itself may have written the other.
  CHECK(found(Fields{{"Forwarded", "proto=https"}, {"X-Forwarded-For", "192.0.2.7"}}).disagrees);
  CHECK(found(Fields{{"Forwarded", "for=192.0.2.7"}, {"X-Forwarded-For", "unknown"}}).disagrees);
  CHECK_FALSE(found(Fields{{"Forwarded", "for=unknown"}, {"X-Forwarded-For", "unknown"}}).disagrees);
  CHECK(found(Fields{{"X-Real-IP", "192.0.2.7"}}).address.empty());
  CHECK(found(Fields{{"Forwarded", "for=192.0.2.7"}}, ClientHeader::x_forwarded_for).address.empty());
}

TEST_CASE("headers have an effect from trusted peers alone, and follow a reload") {
  config::Listen listen;
  TrustedProxies none(listen);
  http::RequestHead head;
  head.headers.add("X-Forwarded-For", "192.0.2.7");
  CHECK(none.client_of(head, "10.0.0.1:1").empty());
  listen.trusted_proxies = {"10.0.0.0/8"};
  none.reconfigured();
  CHECK(none.client_of(head, "10.0.0.1:1") == "192.0.2.7");
  CHECK(none.client_of(head, "11.0.0.1:1").empty());
  CHECK(none.client_of(head, "unix").empty());
  listen.trusted_proxies = {"unix"};
  none.reconfigured();
  CHECK(none.client_of(head, "10.0.0.1:1").empty());
  CHECK(none.client_of(head, "unix") == "192.0.2.7");
}

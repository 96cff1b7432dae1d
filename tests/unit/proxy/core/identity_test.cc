#include "proxy/core/identity.h"

#include <catch2/catch.hpp>

#include "config/identity_words.h"

using namespace lineward;
using namespace lineward::core;

namespace {

std::string word(const std::string& name) {
  return config::kWordBegin + name + config::kWordEnd;
}

Caller alice() {
  Caller caller;
  caller.principal = "jwt:https://a.example#alice";
  caller.subject = "alice";
  caller.kind = "jwt";
  caller.issuer = "https://a.example";
  caller.scopes = {"read", "write"};
  caller.claims = {{"groups", {"ops", "a,b"}}, {"empty", {""}}};
  return caller;
}

}  // namespace

TEST_CASE("identity: a text is visible ASCII, and a comma separates elements") {
  CHECK(identity_text("alice@a.example") == "alice@a.example");
  CHECK(identity_text("Doe, John") == "Doe%2C John");
  CHECK(identity_text(" a\r\nX-User: admin\t%\x7f ") == "%20a%0D%0AX-User: admin%09%25%7F%20");
  CHECK(identity_text("\xc3\xa9") == "%C3%A9");
  CHECK(identity_text(std::string("a\0b", 3)) == "a%00b");
  CHECK(identity_text(std::vector<std::string>{"a", "", "b,c"}) == "a,b%2Cc");
  CHECK(identity_text(std::vector<std::string>{}).empty());
  for (int c = 0; c < 256; ++c) {
    for (const char made : identity_text(std::string(3, static_cast<char>(c))))
      CHECK((made >= 0x20 && made < 0x7f));
  }
}

TEST_CASE("identity: words become what is known of the caller, or nothing") {
  const Caller caller = alice();
  CHECK(identity_of_caller(word("principal.subject"), caller) == "alice");
  CHECK(identity_of_caller(word("principal.id"), caller) == "jwt:https://a.example#alice");
  CHECK(identity_of_caller(word("principal.kind"), caller) == "jwt");
  CHECK(identity_of_caller(word("principal.issuer"), caller) == "https://a.example");
  CHECK(identity_of_caller(word("principal.scopes"), caller) == "read,write");
  CHECK(identity_of_caller(word("claim:groups"), caller) == "ops,a%2Cb");
  CHECK(identity_of_caller("<" + word("principal.kind") + ":" + word("principal.subject") + ">", caller) ==
        "<jwt:alice>");
  for (const char* none : {"claim:empty", "claim:other", "claim:group"})
    CHECK(identity_of_caller("a " + word(none), caller).empty());
}

TEST_CASE("identity: values travel apart from headers of clients") {
  HeaderFields headers{{"X-User", "admin"}, {word("principal.subject"), "admin"}};
  CHECK(identity_value(headers, word("principal.subject")).empty());
  add_identity(headers, {word("principal.subject"), word("claim:other")}, alice());
  CHECK(headers.size() == 3);
  CHECK(identity_value(headers, word("principal.subject")) == "alice");
  CHECK(identity_value(headers, word("principal.id")).empty());
  CHECK(identity_value(headers, "fixed") == "fixed");
}

TEST_CASE("identity: a claim that is too long is a fault of its caller") {
  Caller caller = alice();
  CHECK(identity_fault(caller).empty());
  caller.claims.push_back({"long", {std::string(kMaxIdentityValue, 'a')}});
  CHECK(identity_fault(caller).empty());
  caller.claims.back().values[0].back() = ',';
  CHECK_FALSE(identity_fault(caller).empty());
}

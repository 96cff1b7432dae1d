#include <catch2/catch.hpp>

#include "config/claim_rules.h"
#include "proxy/core/gate.h"

using namespace lineward;

TEST_CASE("claim rules: one of the values, whole, and never a scope") {
  core::Caller caller;
  caller.scopes = {"read", "claim:tenant=other"};
  caller.claims = {{"tenant", {"acme"}}, {"groups", {"ops", "a|b", "c d", "e%f"}}};
  for (const char* rule : {"read", "claim:tenant=acme", "claim:tenant=x|acme", "claim:groups=ops|admins",
                           "claim:groups=a%7Cb", "claim:groups=c%20d", "claim:groups=e%25f"}) {
    INFO(rule);
    CHECK(caller.may(rule));
  }
  for (const char* rule :
       {"write", "claim:tenant=other", "claim:tenant=", "claim:tenant", "claim:", "claim:=acme",
        "claim:groups=a|b", "claim:groups=op", "claim:tenant=Acme", "claim:other=acme"}) {
    INFO(rule);
    CHECK_FALSE(caller.may(rule));
  }
}

TEST_CASE("claim rules: spellings") {
  for (const char* rule : {"claim:a=b", "claim:a.b=c|d", "claim:https://a.example/t=x%20y"})
    CHECK(config::rule_fault(rule).empty());
  for (const char* rule :
       {"claim:a", "claim:=b", "claim:a=", "claim:a=|", "claim:.a=b", "claim:a=b%", "claim:a=%zz"})
    CHECK_FALSE(config::rule_fault(rule).empty());
  CHECK(config::without_rules({"a", "claim:a=b", "c"}) == std::vector<std::string>{"a", "c"});
}

TEST_CASE("a caller that has all of another one") {
  core::Caller first, now;
  first.scopes = {"a"};
  first.claims = {{"groups", {"ops"}}};
  CHECK_FALSE(now.has_all_of(first));
  now.scopes = {"b", "a"};
  CHECK_FALSE(now.has_all_of(first));
  now.claims = {{"groups", {"x", "ops"}}};
  CHECK(now.has_all_of(first));
  CHECK_FALSE(first.has_all_of(now));
}

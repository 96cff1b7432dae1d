// The sources of the keys that tokens are checked with.
#include "unit/plugins/auth/jwt_gate.h"

using namespace lineward;
using namespace lineward::jwt_test;

TEST_CASE("keys from a URL: requests wait for the first set, and a new key is fetched once") {
  Gate gate({}, true);
  REQUIRE(gate.host.asked.size() == 1);
  CHECK(gate.judge("Bearer " + good()).kind == Judgement::Kind::later);
  CHECK(gate.judge("Bearer " + good()).kind == Judgement::Kind::later);
  CHECK(gate.host.asked.size() == 1);
  CHECK(gate.later.empty());
  gate.host.answer(200, issuer().jwks());
  REQUIRE(gate.later.size() == 2);
  CHECK(std::holds_alternative<core::CallerPtr>(gate.later[0]));
  // An unknown key: fetched again at most every ten seconds, for all callers.
  SigningKey fresh = SigningKey::ed25519("fresh");
  std::string token = fresh.token("EdDSA", head("EdDSA", "fresh"), claims());
  CHECK(gate.outcome(token) == "unknown_key");
  CHECK(gate.host.asked.empty());
}

TEST_CASE("without keys requests are 503, with old ones they go on") {
  Gate gate({}, true);
  CHECK(gate.judge("Bearer " + good()).kind == Judgement::Kind::later);
  gate.host.answer(0, "");
  REQUIRE(gate.later.size() == 1);
  CHECK(std::get<core::PolicyError>(gate.later[0]).status == 503);
  CHECK(gate.outcome(good()) == "keys_unavailable");
  CHECK(gate.denial.status == 503);
}

TEST_CASE("an unknown key is 503 as long as the issuer's keys cannot be had") {
  Gate gate({}, true, 50ms);
  gate.host.answer(200, issuer().jwks());
  SigningKey fresh = SigningKey::ed25519("fresh");
  std::string token = fresh.token("EdDSA", head("EdDSA", "fresh"), claims());
  CHECK(gate.outcome(token) == "unknown_key");
  CHECK(gate.denial.status == 401);
  net::Timer look(gate.host.loop());
  std::function<void()> until_asked = [&] {
    if (!gate.host.asked.empty()) return gate.host.loop().stop();
    look.start(std::chrono::milliseconds(10), until_asked);
  };
  until_asked();
  gate.host.loop().run();
  // Under way, and then failed.
  REQUIRE(gate.host.asked.size() == 1);
  gate.host.answer(0, "");
  CHECK(gate.outcome(token) == "keys_unavailable");
  CHECK(gate.denial.status == 503);
  CHECK(gate.outcome(good()) == "ok");
  look.stop();
}

TEST_CASE("keys come over https, or from this machine") {
  const plugin::Type type = plugins::jwt();
  const auto* spec = type.spec;
  auto row = std::find_if(spec->options.begin(), spec->options.end(),
                          [](const config::Option& option) { return option.path == "jwks.url"; });
  REQUIRE(row != spec->options.end());
  const auto fits = [&](const char* url) {
    config::Value value;
    value.text = url;
    return row->check(value).empty();
  };
  for (const char* good : {"", "https://a.example/jwks", "http://127.0.0.1:8080/k", "http://127.9.9.9",
                           "http://[::1]:1/k", "http://localhost/k"}) {
    INFO(good);
    CHECK(fits(good));
  }
  for (const char* bad :
       {"http://a.example/jwks", "http://127.0.0.1.a.example/", "http://localhost.example/",
        "http://10.0.0.1/k", "http://127.0.0.1@a.example/", "ftp://a/", "HTTP://a/", "http://",
        "http://[::1]@a.example/", "http://[::2]/", "http://127.0.0.1\\@a.example/"}) {
    INFO(bad);
    CHECK_FALSE(fits(bad));
  }
}

TEST_CASE("what waits for keys is bounded") {
  Gate gate({}, true);
  for (int i = 0; i < 256; ++i)
    REQUIRE(gate.judge("Bearer " + good()).kind == Judgement::Kind::later);
  CHECK(gate.outcome(good()) == "keys_unavailable");
  gate.host.answer(200, issuer().jwks());
  CHECK(gate.later.size() == 256);
}

TEST_CASE("key sets that are none are told apart from those without a usable key") {
  for (const char* bad : {"", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\"}]}",
                          "{\"keys\":[],\"keys\":[]}", "<html>"}) {
    INFO(bad);
    CHECK_FALSE(plugins::KeySet::parse(bad));
  }
  std::string key = issuer().p256.jwk();
  CHECK(plugins::KeySet::parse("{\"keys\":[" + key + ",{\"kty\":1},7]}").value()->size() == 1);
  // A point that is not on its curve.
  size_t at = key.find("\"x\":\"") + 5;
  key[at + 3] = key[at + 3] == 'A' ? 'B' : 'A';
  CHECK_FALSE(plugins::KeySet::parse("{\"keys\":[" + key + "]}"));
}

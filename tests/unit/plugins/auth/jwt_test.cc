#include <fmt/format.h>

#include "plugins/auth/auth_common.h"
#include "unit/plugins/auth/jwt_gate.h"

using namespace lineward;
using namespace lineward::jwt_test;

TEST_CASE("base64url is strict") {
  CHECK(plugins::base64url("").value() == "");
  CHECK(plugins::base64url("Zg").value() == "f");
  CHECK(plugins::base64url("_-8").value() == "\xff\xef");
  for (const char* bad : {"Z", "Zh", "Zg==", "Z g", "Zg\n", "+/8", "Zm9", "AAAAA"})
    CHECK_FALSE(plugins::base64url(bad));
}

TEST_CASE("every algorithm is checked with the key that it is for") {
  Gate gate;
  Issuer& keys = issuer();
  for (const char* alg : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
    CHECK(gate.outcome(keys.rsa.token(alg, head(alg, "r"), claims())) == "ok");
  CHECK(gate.outcome(keys.p256.token("ES256", head("ES256", "p256"), claims())) == "ok");
  CHECK(gate.outcome(keys.p384.token("ES384", head("ES384", "p384"), claims())) == "ok");
  CHECK(gate.outcome(keys.p521.token("ES512", head("ES512", "p521"), claims())) == "ok");
  CHECK(gate.outcome(keys.ed.token("EdDSA", head("EdDSA", "ed"), claims())) == "ok");
  CHECK(gate.outcome(keys.ed.token("Ed25519", head("Ed25519", "ed"), claims())) == "ok");
  CHECK(gate.outcome(keys.fixed.token("PS256", head("PS256", "fixed"), claims())) == "ok");
  // Without a kid every key of that type is tried.
  CHECK(gate.outcome(keys.fixed.token("PS256", "{\"alg\":\"PS256\"}", claims())) == "ok");
}

TEST_CASE("a caller is the issuer's subject, with its scopes") {
  Gate gate;
  CHECK(gate.outcome(good({{"sub", "\"a b{}%/é\""}, {"scp", "[\"x\",\"y\"]"}})) == "ok");
  CHECK(gate.last->principal == "jwt:" + kIssuer + "#a%20b%7B%7D%25/%C3%A9");
  CHECK(gate.last->name == "a?b{}%/??");
  CHECK(gate.last->by == "jwt");
  for (const char* scope : {"mcp.tools", "mcp.read", "x", "y"})
    CHECK(gate.last->may(scope));
  CHECK_FALSE(gate.last->may("mcp.tools mcp.read"));
}

TEST_CASE("bad tokens are refused, each for its reason") {
  Gate gate;
  Issuer& keys = issuer();
  const std::string now = std::to_string(std::time(nullptr));
  auto at = [](int64_t seconds) { return std::to_string(std::time(nullptr) + seconds); };
  const std::string token = good();
  const std::string unsigned_part = token.substr(0, token.rfind('.'));
  // An HMAC with the public key as its secret: the classical confusion of RS256 and HS256.
  const std::string confused = encode(head("HS256", "r")) + "." + encode(claims());
  const std::string secret = keys.rsa.jwk();
  unsigned char mac[32];
  unsigned size = sizeof mac;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(confused.data()), confused.size(), mac, &size);
  const std::string hmac(reinterpret_cast<char*>(mac), sizeof mac);
  struct Bad {
    const char* what;
    std::string token;
    const char* reason;
  };
  const std::vector<Bad> all{
      {"no JWT", "abc", "malformed"},
      {"four parts", token + ".x", "malformed"},
      {"padding", token + "=", "malformed"},
      {"no signature", unsigned_part + ".", "malformed"},
      {"alg none", encode("{\"alg\":\"none\"}") + "." + encode(claims()) + ".", "algorithm"},
      {"alg None with a signature", encode("{\"alg\":\"None\"}") + "." + encode(claims()) + ".AAAA",
       "algorithm"},
      {"HS256 with the public key", confused + "." + encode(hmac), "algorithm"},
      {"HS256 with the set's own oct key",
       encode(head("HS256", "oct")) + "." + encode(claims()) + "." + encode(hmac), "algorithm"},
      {"RS256 with a key for PS256", keys.fixed.token("RS256", head("RS256", "fixed"), claims()),
       "algorithm"},
      {"ES256 named, RSA key", keys.rsa.token("RS256", head("ES256", "r"), claims()), "algorithm"},
      {"ES256 on another curve", keys.p384.token("ES256", head("ES256", "p384"), claims()), "algorithm"},
      {"a key for encryption", keys.crypt.token("RS256", head("RS256", "crypt"), claims()), "unknown_key"},
      {"a key of 1024 bits", keys.weak.token("RS256", head("RS256", "weak"), claims()), "unknown_key"},
      {"unknown kid", keys.p256.token("ES256", head("ES256", "other"), claims()), "unknown_key"},
      {"a key of its own in the header",
       keys.weak.token("RS256", head("RS256", "mine", ",\"jwk\":" + keys.weak.jwk()), claims()),
       "unknown_key"},
      {"another's signature",
       SigningKey::ec("p256", "P-256", 32).token("ES256", head("ES256", "p256"), claims()), "signature"},
      {"a changed signature", flipped(token, 10), "signature"},
      {"a changed payload",
       encode(head("ES256", "p256")) + "." + encode(claims({{"sub", "\"root\""}})) +
           token.substr(token.rfind('.')),
       "signature"},
      {"a signature of zeros", unsigned_part + "." + encode(std::string(64, '\0')), "signature"},
      {"a DER signature", unsigned_part + "." + encode(std::string("\x30\x06\x02\x01\x01\x02\x01\x01", 8)),
       "signature"},
      {"crit", good({}, ",\"crit\":[\"exp\"]"), "critical"},
      {"b64", good({}, ",\"b64\":false"), "critical"},
      {"typ of another kind", good({}, ",\"typ\":\"dpop+jwt\""), "type"},
      {"typ of a logout token", good({}, ",\"typ\":\"logout+jwt\""), "type"},
      {"alg twice", good({}, ",\"alg\":\"ES256\""), "malformed"},
      {"expired", good({{"exp", at(-31)}}), "expired"},
      {"no exp", good({{"exp", ""}}), "claims"},
      {"exp a text", good({{"exp", "\"" + at(600) + "\""}}), "claims"},
      {"exp huge", good({{"exp", "1e300"}}), "claims"},
      {"not yet", good({{"nbf", at(60)}}), "not_yet"},
      {"issued in the future", good({{"iat", at(60)}}), "not_yet"},
      {"another issuer", good({{"iss", "\"https://auth.example.org\""}}), "issuer"},
      {"the issuer with a slash", good({{"iss", "\"" + kIssuer + "/\""}}), "issuer"},
      {"no issuer", good({{"iss", ""}}), "claims"},
      {"another audience", good({{"aud", "\"https://other.example.com/mcp\""}}), "audience"},
      {"a prefix of the audience", good({{"aud", "\"https://mcp.example.com\""}}), "audience"},
      {"another server's audience", good({{"aud", "[\"" + kResource + "/t\"]"}}), "audience"},
      {"no audience", good({{"aud", ""}}), "audience"},
      {"aud no text", good({{"aud", "[1]"}}), "claims"},
      {"no subject", good({{"sub", ""}}), "claims"},
      {"empty subject", good({{"sub", "\"\""}}), "claims"},
      {"a line break in the subject", good({{"sub", "\"a\\nb\""}}), "claims"},
      {"aud twice",
       issuer().p256.token("ES256", head("ES256", "p256"), "{\"aud\":\"x\"," + claims().substr(1)), "claims"},
      {"a payload that is a list", issuer().p256.token("ES256", head("ES256", "p256"), "[]"), "claims"},
      {"too long", good({{"x", "\"" + std::string(9000, 'x') + "\""}}), "oversized"},
  };
  for (const Bad& bad : all) {
    INFO(bad.what);
    CHECK(gate.outcome(bad.token) == bad.reason);
    CHECK(gate.denial.status == 401);
    REQUIRE(gate.denial.headers.size() == 1);
    CHECK(gate.denial.headers[0].first == "WWW-Authenticate");
    CHECK(gate.denial.headers[0].second.rfind("Bearer error=\"invalid_token\"", 0) == 0);
    CHECK(gate.denial.headers[0].second.find(
              "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"") !=
          std::string::npos);
  }
  CHECK(gate.outcome(token) == "ok");
  // Within the leeway.
  CHECK(gate.outcome(good({{"exp", at(-20)}})) == "ok");
  CHECK(gate.outcome(good({{"nbf", at(20)}})) == "ok");
}

TEST_CASE("the audience is the endpoint that is asked, or the whole resource") {
  Gate gate;
  std::string below = good({{"aud", "[\"x\",\"" + kResource + "/s\"]"}});
  CHECK(gate.outcome(below, "/mcp/s") == "ok");
  CHECK(gate.outcome(below, "/mcp/t") == "audience");
  CHECK(gate.outcome(below, "/mcp") == "audience");
  CHECK(gate.outcome(good(), "/mcp/t") == "ok");
  CHECK(gate.outcome(good({{"aud", "\"x\""}}), "/mcp/s") == "audience");
  CHECK(gate.denial.headers[0].second.find("oauth-protected-resource/mcp/s\"") != std::string::npos);
}

TEST_CASE("a token without a scope that every request needs is 403 with all of them") {
  Gate gate({{"requiredScopes", {"mcp.tools", "mcp.admin"}}});
  CHECK(gate.outcome(good()) == "scope");
  CHECK(gate.denial.status == 403);
  CHECK(gate.denial.headers[0].second ==
        "Bearer error=\"insufficient_scope\", scope=\"mcp.tools mcp.read mcp.admin\", "
        "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"");
  CHECK(gate.outcome(good({{"scope", "\"mcp.admin mcp.tools\""}})) == "ok");
}

TEST_CASE("a challenge asks for what the caller has too, so that no caller loses one scope for another") {
  Gate gate({{"requiredScopes", {"mcp.tools", "mcp.admin"}}});
  const auto asked = [&gate](const std::string& scopes) {
    CHECK(gate.outcome(good({{"scope", "\"" + scopes + "\""}})) == "scope");
    const std::string& said = gate.denial.headers[0].second;
    const size_t at = said.find("scope=\"") + 7;
    return said.substr(at, said.find('"', at) - at);
  };
  CHECK(asked("notes.read mcp.admin notes.read") == "notes.read mcp.admin mcp.tools");
  // Needed scopes are always there, the caller's as far as a header has room.
  std::string many, kept;
  for (int i = 0; i < 100; ++i) {
    many += (i == 0 ? "" : " ") + fmt::format("s{}", i);
    if (i < 64) kept += fmt::format("s{} ", i);
  }
  CHECK(asked(many) == kept + "mcp.tools mcp.admin");
  const std::string longest(1024, 'x');
  CHECK(asked(longest) == longest + " mcp.tools mcp.admin");
  CHECK(asked(longest + "x") == "mcp.tools mcp.admin");
  // An invalid OAuth scope could read as several, or as the end of the parameter.
  core::Caller caller;
  caller.scopes = {"two words", "qu\"ote", "back\\slash", "", "gr\xC3\xBC\xC3\x9F", "plain"};
  CHECK(plugins::scopes_to_ask(caller, {"more"}) == "plain more");
}

TEST_CASE("algorithms and types can be narrowed") {
  Gate gate({{"algorithms", {"ES256"}}, {"types", {"at+jwt"}}});
  CHECK(gate.outcome(good()) == "type");
  CHECK(gate.outcome(good({}, ",\"typ\":\"at+jwt\"")) == "ok");
  CHECK(gate.outcome(good({}, ",\"typ\":\"application/AT+JWT\"")) == "ok");
  CHECK(gate.outcome(issuer().rsa.token("RS256", head("RS256", "r", ",\"typ\":\"at+jwt\""), claims())) ==
        "algorithm");
}

TEST_CASE("credentials of other kinds identify no caller, two at once are refused") {
  Gate gate;
  CHECK(gate.judge("Basic YTpi").kind == Judgement::Kind::not_mine);
  CHECK(gate.judge("Bearer").kind == Judgement::Kind::not_mine);
  http::HeaderList headers;
  headers.add("Authorization", "Bearer a");
  headers.add("authorization", "Bearer b");
  Judgement judgement = gate.plugin->authenticator()->judge({headers, "POST", "/mcp", "s", ""}, nullptr);
  CHECK(std::get<core::PolicyError>(judgement.answer).status == 400);
  CHECK(gate.judge("bEaReR " + good()).kind == Judgement::Kind::decided);
}

TEST_CASE("a token is verified once, and expires all the same") {
  Gate gate;
  std::string token = good();  // for ten minutes, and the leeway is half a minute
  CHECK(gate.outcome(token) == "ok");
  CHECK(gate.outcome(token) == "ok");
  CHECK(gate.counted("lineward_jwt_checks_total/verified") == 1);
  CHECK(gate.counted("lineward_jwt_checks_total/cached") == 1);
  gate.host.passed = 570s;
  CHECK(gate.outcome(token) == "ok");
  gate.host.passed = 631s;
  CHECK(gate.outcome(token) == "expired");
}

TEST_CASE("claims that the configuration uses: a whole name first, then the levels between its dots") {
  const std::string payload =
      R"({"iss":"i","sub":"s","exp":9,"a":{"b":["x","y"],"c":{"d":1}},"a.b":"whole","n":1.5,"t":true,"o":{},"e":[],)"
      R"("l":[["x"]],"z":null})";
  auto read =
      plugins::read_claims(payload, {"a.b", "a.c.d", "a.c", "n", "t", "o", "e", "l", "z", "a.b.c", "x"});
  REQUIRE(read);
  std::string found;
  for (const auto& claim : read->others) {
    found += claim.name + ":";
    for (const std::string& value : claim.values)
      found += value + ";";
  }
  CHECK(found == "a.b:whole;a.c.d:1;n:1.5;t:true;");
  CHECK(plugins::read_claims(payload)->others.empty());
}

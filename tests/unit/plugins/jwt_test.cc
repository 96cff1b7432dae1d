#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include "fake_host.h"
#include "plugins/jwt_keys.h"
#include "plugins/jwt_token.h"
#include "plugins/types.h"
#include "signing.h"

using namespace lineward;
using namespace std::chrono_literals;
using plugin::Judgement;
using test::encode;
using test::SigningKey;

namespace {

const std::string kIssuer = "https://auth.example.com";
const std::string kResource = "https://mcp.example.com/mcp";

struct Issuer {
  SigningKey rsa = SigningKey::rsa("r"), p256 = SigningKey::ec("p256", "P-256", 32),
             p384 = SigningKey::ec("p384", "P-384", 48), p521 = SigningKey::ec("p521", "P-521", 66),
             ed = SigningKey::ed25519("ed"), fixed = SigningKey::rsa("fixed"),
             crypt = SigningKey::rsa("crypt"), weak = SigningKey::rsa("weak", 1024);
  std::string jwks() const {
    return "{\"keys\":[" + rsa.jwk() + "," + p256.jwk(",\"use\":\"sig\"") + "," + p384.jwk() + "," +
           p521.jwk() + "," + ed.jwk() + "," + fixed.jwk(",\"alg\":\"PS256\"") + "," +
           crypt.jwk(",\"use\":\"enc\"") + "," + weak.jwk() +
           ",{\"kty\":\"oct\",\"kid\":\"oct\",\"k\":\"AAAA\"}]}";
  }
};

Issuer& issuer() {
  static Issuer one;
  return one;
}

std::string claims(const std::map<std::string, std::string>& changes = {}) {
  std::map<std::string, std::string> all{{"iss", "\"" + kIssuer + "\""},
                                         {"sub", "\"u1\""},
                                         {"aud", "\"" + kResource + "\""},
                                         {"scope", "\"mcp.tools mcp.read\""},
                                         {"exp", std::to_string(std::time(nullptr) + 600)}};
  for (const auto& [name, value] : changes) {
    if (value.empty()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  std::string out;
  for (const auto& [name, value] : all)
    out += (out.empty() ? "{\"" : ",\"") + name + "\":" + value;
  return out + "}";
}

std::string head(const std::string& alg, const std::string& kid, const std::string& more = {}) {
  return "{\"alg\":\"" + alg + "\",\"kid\":\"" + kid + "\"" + more + "}";
}

std::string good(const std::map<std::string, std::string>& changes = {}, const std::string& more = {}) {
  return issuer().p256.token("ES256", head("ES256", "p256", more), claims(changes));
}

struct Counts final : plugin::CounterSink {
  std::map<std::string, double> values;
  void add(std::string_view metric, std::string_view label, double value) override {
    values[std::string(metric) + "/" + std::string(label)] = value;
  }
};

// The plugin with keys from a file, or from a URL that the test answers.
class Gate {
 public:
  explicit Gate(const std::map<std::string, std::vector<std::string>>& lists = {}, bool url = false,
                std::chrono::milliseconds refresh = 600s) {
    host.config_.auth.resource_metadata.resource = kResource;
    plugin::Type type = plugins::jwt();
    entry_.type = entry_.name = "jwt";
    entry_.values = config::plugin_defaults(*type.spec);
    set("issuer", kIssuer);
    if (url) {
      set("jwks.url", "https://auth.example.com/jwks");
    } else {
      file_ = "/tmp/lineward-jwks-" + std::to_string(getpid()) + ".json";
      std::ofstream(file_) << issuer().jwks();
      set("jwks.file", file_);
    }
    config::Value pause;
    pause.duration = refresh;
    entry_.values.set("jwks.refresh", pause);
    for (const auto& [name, list] : lists) {
      config::Value value;
      value.list = list;
      entry_.values.set(name, value);
    }
    host.config_.auth.methods.push_back(entry_);
    auto made = type.make(entry_, host);
    REQUIRE(made);
    plugin = std::move(*made);
  }
  ~Gate() {
    plugin.reset();
    host.loop().close_all();
    if (!file_.empty()) std::remove(file_.c_str());
  }

  Judgement judge(const std::string& authorization, const std::string& path = "/mcp") {
    http::HeaderList headers;
    headers.add("Authorization", authorization);
    return plugin->authenticator()->judge(
        {headers, "POST", path, "s", "127.0.0.1:1"},
        [this](core::GateAnswer answer) { later.push_back(std::move(answer)); });
  }
  // "ok", or the label of the failure that was counted; the denial's shape is checked on the way.
  std::string outcome(const std::string& token, const std::string& path = "/mcp") {
    Counts before, after;
    plugin->count(before);
    Judgement judgement = judge("Bearer " + token, path);
    plugin->count(after);
    REQUIRE(judgement.kind == Judgement::Kind::decided);
    if (auto* caller = std::get_if<core::CallerPtr>(&judgement.answer)) {
      last = *caller;
      return "ok";
    }
    denial = std::get<core::Denial>(judgement.answer);
    CHECK(denial.text.find(token.substr(0, 20)) == std::string::npos);
    for (const auto& [name, value] : after.values) {
      if (name.rfind("lineward_auth_failures_total/", 0) == 0 && value > before.values[name])
        return name.substr(name.find('/') + 1);
    }
    return "uncounted";
  }
  double counted(const std::string& name) const {
    Counts counts;
    plugin->count(counts);
    return counts.values[name];
  }

  test::FakeHost host;
  std::unique_ptr<plugin::Plugin> plugin;
  std::vector<core::GateAnswer> later;
  core::CallerPtr last;
  core::Denial denial;

 private:
  void set(const std::string& name, const std::string& text) {
    config::Value value;
    value.text = text;
    entry_.values.set(name, value);
  }
  config::PluginEntry entry_;
  std::string file_;
};

std::string flipped(std::string token, size_t from_end) {
  char& c = token[token.size() - from_end];
  c = c == 'A' ? 'B' : 'A';
  return token;
}

}  // namespace

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
        "Bearer error=\"insufficient_scope\", scope=\"mcp.tools mcp.admin\", "
        "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"");
  CHECK(gate.outcome(good({{"scope", "\"mcp.admin mcp.tools\""}})) == "ok");
}

TEST_CASE("algorithms and types can be narrowed") {
  Gate gate({{"algorithms", {"ES256"}}, {"types", {"at+jwt"}}});
  CHECK(gate.outcome(good()) == "type");
  CHECK(gate.outcome(good({}, ",\"typ\":\"at+jwt\"")) == "ok");
  CHECK(gate.outcome(good({}, ",\"typ\":\"application/AT+JWT\"")) == "ok");
  CHECK(gate.outcome(issuer().rsa.token("RS256", head("RS256", "r", ",\"typ\":\"at+jwt\""), claims())) ==
        "algorithm");
}

TEST_CASE("credentials of other kinds are nobody's, two at once are refused") {
  Gate gate;
  CHECK(gate.judge("Basic YTpi").kind == Judgement::Kind::not_mine);
  CHECK(gate.judge("Bearer").kind == Judgement::Kind::not_mine);
  http::HeaderList headers;
  headers.add("Authorization", "Bearer a");
  headers.add("authorization", "Bearer b");
  Judgement judgement = gate.plugin->authenticator()->judge({headers, "POST", "/mcp", "s", ""}, nullptr);
  CHECK(std::get<core::Denial>(judgement.answer).status == 400);
  CHECK(gate.judge("bEaReR " + good()).kind == Judgement::Kind::decided);
}

TEST_CASE("a token is verified once, and expires all the same") {
  Gate gate;
  std::time_t end = std::time(nullptr) + 3;  // the leeway is 30
  std::string token = good({{"exp", std::to_string(end - 30)}});
  CHECK(gate.outcome(token) == "ok");
  CHECK(gate.outcome(token) == "ok");
  CHECK(gate.counted("lineward_jwt_checks_total/verified") == 1);
  CHECK(gate.counted("lineward_jwt_checks_total/cached") == 1);
  std::this_thread::sleep_until(std::chrono::system_clock::from_time_t(end + 1));
  CHECK(gate.outcome(token) == "expired");
}

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
  // An unknown key: asked again at most every ten seconds, whoever asks.
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
  CHECK(std::get<core::Denial>(gate.later[0]).status == 503);
  CHECK(gate.outcome(good()) == "keys_unavailable");
  CHECK(gate.denial.status == 503);
}

TEST_CASE("a key that nobody knows is 503 as long as the issuer's keys cannot be had") {
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

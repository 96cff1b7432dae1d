// Common parts of the tests of access tokens: an issuer with a key of each kind, its tokens, and the plugin
// that judges them.
#pragma once

#include <unistd.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include "plugins/auth/jwt_keys.h"
#include "plugins/auth/jwt_token.h"
#include "plugins/common/types.h"
#include "unit/plugins/auth/signing.h"
#include "unit/plugins/common/fake_host.h"

namespace lineward::jwt_test {

using namespace std::chrono_literals;
using plugin::Judgement;
using test::encode;
using test::SigningKey;

inline const std::string kIssuer = "https://auth.example.com";
inline const std::string kResource = "https://mcp.example.com/mcp";

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

inline Issuer& issuer() {
  static Issuer one;
  return one;
}

inline std::string claims(const std::map<std::string, std::string>& changes = {}) {
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

inline std::string head(const std::string& alg, const std::string& kid, const std::string& more = {}) {
  return "{\"alg\":\"" + alg + "\",\"kid\":\"" + kid + "\"" + more + "}";
}

inline std::string good(const std::map<std::string, std::string>& changes = {},
                        const std::string& more = {}) {
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
    entry_.has_resource = true;
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
    denial = std::get<core::PolicyError>(judgement.answer);
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
  core::PolicyError denial;

 private:
  void set(const std::string& name, const std::string& text) {
    config::Value value;
    value.text = text;
    entry_.values.set(name, value);
  }
  config::PluginEntry entry_;
  std::string file_;
};

inline std::string flipped(std::string token, size_t from_end) {
  char& c = token[token.size() - from_end];
  c = c == 'A' ? 'B' : 'A';
  return token;
}

}  // namespace lineward::jwt_test

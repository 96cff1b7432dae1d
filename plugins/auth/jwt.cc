// Callers with access tokens of an OAuth authorization server: this gateway is a resource server (MCP
// authorization; RFC 6750, 8725, 9068, 9728). The principal is "jwt:ISSUER#SUBJECT".
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "config/auth_blocks.h"
#include "config/claim_rules.h"
#include "config/options/read_value.h"
#include "foundation/base/keyed_digest.h"
#include "foundation/base/own_host.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/tls.h"
#include "plugins/auth/auth_common.h"
#include "plugins/auth/jwt_cache.h"
#include "plugins/auth/jwt_key_source.h"
#include "plugins/auth/jwt_token.h"
#include "plugins/common/types.h"
#include "proxy/core/identity.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::EndReason;
using plugin::Judgement;

constexpr size_t kMaxCached = 8192;
constexpr size_t kMaxWaiting = 256;   // requests waiting for keys
constexpr size_t kMaxCandidates = 8;  // keys tried for a token without a key id

double unix_now(const plugin::Host& host) {
  return std::chrono::duration<double>(host.wall_clock().time_since_epoch()).count();
}

KeySourceOptions source_options(const config::PluginEntry& entry) {
  KeySourceOptions out;
  out.plugin = entry.name;
  out.file = entry.path_of(entry.values.text("jwks.file"));
  out.url = entry.values.text("jwks.url");
  out.ca_file = entry.path_of(entry.values.text("jwks.caFile"));
  out.refresh = entry.values.duration("jwks.refresh");
  out.max_stale = entry.values.duration("jwks.maxStale");
  return out;
}

// "https://host" and "https://host/" are the same resource.
std::string_view without_slash(std::string_view url) {
  size_t scheme = url.find("://");
  bool bare =
      scheme != url.npos && !url.empty() && url.back() == '/' && url.find('/', scheme + 3) == url.size() - 1;
  return bare ? url.substr(0, url.size() - 1) : url;
}

class Jwt final : public plugin::Plugin, public plugin::Authenticator {
 public:
  Jwt(const config::PluginEntry& entry, plugin::Host& host)
      : name_(entry.name),
        issuer_(entry.values.text("issuer")),
        audiences_(entry.values.list("audiences")),
        algorithms_(entry.values.list("algorithms")),
        types_(entry.values.list("types")),
        leeway_(std::chrono::duration<double>(entry.values.duration("leeway")).count()),
        most_bytes_(entry.values.number("maxTokenBytes")),
        listener_(entry.listener),
        realm_(entry.realm()),
        has_resource_(entry.has_resource),
        claims_(entry.claims),
        host_(host),
        resource_(host, entry.listener),
        rules_(entry.values),
        source_(
            host, source_options(entry), [this] { cache_.clear(); }, [this] { settled(); }) {
    rules_.say_if_unused(name_, host);
  }

  Status<> start() {
    for (const std::string& name : algorithms_) {
      if (find_algorithm(name) == nullptr)
        return fail(
            fmt::format("algorithms: '{}' is none of RS256 to RS512, PS256 to PS512, ES256 to ES512, "
                        "EdDSA",
                        config::clip(name)));
    }
    if (audiences_.empty() && !has_resource_)
      return fail(
          "give audiences:, or resource: below auth.resourceMetadata: a token must be for this gateway");
    return source_.start();
  }

  // plugin::Plugin
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override {
    if (!rules_.has_rules()) return nullptr;
    plugin::RequestInfo facts = exchange.facts();
    bool mine = facts.caller == nullptr || facts.caller->by == name_;
    if (facts.on_stdio || !mine) return nullptr;
    return std::make_unique<ScopeCheck>(rules_, resource_, failures_, true);
  }
  plugin::Authenticator* authenticator() override { return this; }
  void count(plugin::CounterSink& sink) const override {
    failures_.count(sink);
    sink.add("lineward_jwt_checks_total", "cached", static_cast<double>(cached_));
    sink.add("lineward_jwt_checks_total", "verified", static_cast<double>(verified_));
    sink.add("lineward_jwks_fetches_total", {}, static_cast<double>(source_.fetches()));
    sink.add("lineward_jwks_failures_total", {}, static_cast<double>(source_.failures()));
  }

  // plugin::Authenticator
  Judgement judge(const core::GateRequest& request, core::GateDone done) override {
    size_t count = request.headers.count("Authorization");
    if (count == 0) return {};
    if (count > 1) {
      failures_.add("malformed");
      return {Judgement::Kind::decided,
              denial(EndReason::invalid_request, 400, "there are several Authorization headers",
                     Challenge{"invalid_request", {}, {}, {}}.text())};
    }
    auto token = bearer_text(request.headers);
    if (!token) return {};
    if (const VerifiedToken* known = find_verified(*token))
      return {Judgement::Kind::decided, decide(*known, request.path)};
    if (!is_token68(*token)) token = std::string_view();
    bool others = config::auth_of(host_.config(), listener_).methods.size() > 1;
    if (others && std::count(token->begin(), token->end(), '.') != 2) return {};
    Wait wait = !done ? Wait::would : waiting_.size() < kMaxWaiting ? Wait::may : Wait::never;
    auto answer = examine(*token, request.path, wait);
    if (answer) return {Judgement::Kind::decided, std::move(*answer)};
    if (done) waiting_.push_back({std::string(*token), std::string(request.path), std::move(done)});
    return {Judgement::Kind::later, {}};
  }
  std::string challenge(const core::GateRequest& request) const override {
    return Challenge{
        {}, {}, joined(config::without_rules(rules_.required())), resource_.metadata_url(request.path)}
        .text();
  }

 private:
  enum class Wait : uint8_t { never, may, would };
  struct Waiting {
    std::string token, path;
    core::GateDone done;
  };

  // nullopt: keys are being fetched, or would have to be.
  std::optional<core::GateAnswer> examine(std::string_view text, std::string_view path, Wait wait) {
    if (text.size() > most_bytes_) return refused(JwtFault::oversized, path);
    if (const VerifiedToken* known = find_verified(text)) return decide(*known, path);
    auto token = read_token(text);
    if (!token) return refused(token.error(), path);
    const JwtAlgorithm* algorithm = find_algorithm(token->alg);
    if (algorithm == nullptr || !is_in(algorithms_, token->alg)) return refused(JwtFault::algorithm, path);
    if (!is_type(token->typ)) return refused(JwtFault::type, path);
    const KeySet* keys = source_.keys();
    const std::string* kid = token->kid ? &*token->kid : nullptr;
    if (keys == nullptr) {
      if (waits(wait)) return std::nullopt;
      return refused(JwtFault::keys_unavailable, path);
    }
    auto candidates = keys->find(kid, *algorithm);
    if (candidates.empty()) {
      if (kid != nullptr && keys->has(*kid)) return refused(JwtFault::algorithm, path);
      if (waits(wait)) return std::nullopt;
      // Its key may be among those that cannot be fetched.
      return refused(source_.lacking() ? JwtFault::keys_unavailable : JwtFault::unknown_key, path);
    }
    ++verified_;
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
    bool right = std::any_of(candidates.begin(), candidates.end(), [&](const VerifyKey* key) {
      return verify(*algorithm, *key, token->signed_part, token->signature);
    });
    if (!right) return refused(JwtFault::signature, path);
    auto claims = read_claims(token->payload, claims_);
    if (!claims) return refused(claims.error(), path);
    if (claims->issuer != issuer_) return refused(JwtFault::issuer, path);
    VerifiedToken made = verified(std::move(*claims));
    if (!core::identity_fault(*made.caller).empty()) return refused(JwtFault::long_claim, path);
    // Expired tokens take no place in the cache.
    if (made.expires + leeway_ <= unix_now(host_)) return refused(JwtFault::expired, path);
    return decide(cache_.add(keyed_digest(text), std::move(made)), path);
  }

  // Outdated keys invalidate the tokens that they verified.
  const VerifiedToken* find_verified(std::string_view text) {
    if (text.size() > most_bytes_ || !source_.keys()) return nullptr;
    const VerifiedToken* known = cache_.find(keyed_digest(text));
    if (known != nullptr) ++cached_;
    return known;
  }

  bool waits(Wait wait) {
    if (wait == Wait::would) return source_.may_look_again();
    return wait == Wait::may && source_.look_again();
  }

  static bool is_in(const std::vector<std::string>& list, const std::string& text) {
    return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
  }

  // RFC 8725, section 3.11: other kinds of token must not pass as access tokens. `typ` may lack its prefix.
  bool is_type(std::string_view typ) const {
    constexpr std::string_view kPrefix = "application/";
    if (http::equals_ignoring_case(typ.substr(0, kPrefix.size()), kPrefix)) typ.remove_prefix(kPrefix.size());
    if (types_.empty()) {
      return typ.empty() || http::equals_ignoring_case(typ, "JWT") ||
             http::equals_ignoring_case(typ, "at+jwt");
    }
    return std::any_of(types_.begin(), types_.end(),
                       [&](const std::string& one) { return http::equals_ignoring_case(one, typ); });
  }

  VerifiedToken verified(JwtClaims claims) const {
    auto caller = std::make_shared<core::Caller>();
    caller->principal = realm_ + "jwt:" + issuer_ + "#" + unambiguous(claims.subject);
    caller->name = caller_name(claims.subject);
    caller->by = name_;
    caller->kind = "jwt";
    caller->subject = std::move(claims.subject);
    caller->issuer = issuer_;
    caller->claims = std::move(claims.others);
    caller->scopes = std::move(claims.scopes);
    caller->until =
        std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::duration<double>(std::min(claims.expires, 9e9))));
    VerifiedToken out;
    out.caller = std::move(caller);
    out.audiences = std::move(claims.audiences);
    out.expires = claims.expires;
    out.starts = std::max(claims.not_before.value_or(0), claims.issued.value_or(0));
    return out;
  }

  core::GateAnswer decide(const VerifiedToken& token, std::string_view path) {
    double now = unix_now(host_);
    if (token.expires + leeway_ <= now) return refused(JwtFault::expired, path);
    if (token.starts - leeway_ > now) return refused(JwtFault::not_yet, path);
    if (!is_for(token, path)) return refused(JwtFault::audience, path);
    if (has_all(*token.caller, rules_.required())) return token.caller;
    failures_.add("scope");
    // No other scopes would help where a claim is missing.
    const bool has_scopes = has_all(*token.caller, config::without_rules(rules_.required()));
    const std::string asked = scopes_to_ask(*token.caller, rules_.required());
    Challenge challenge{"insufficient_scope", {}, asked, resource_.metadata_url(path)};
    return denial(EndReason::forbidden, 403, "the access token lacks a scope of " + joined(rules_.required()),
                  has_scopes ? std::string() : challenge.text());
  }

  bool is_for(const VerifiedToken& token, std::string_view path) const {
    auto names = [&](std::string_view audience) {
      return std::any_of(token.audiences.begin(), token.audiences.end(), [&](const std::string& one) {
        return without_slash(one) == without_slash(audience);
      });
    };
    if (!audiences_.empty()) return std::any_of(audiences_.begin(), audiences_.end(), names);
    return names(resource_.url()) || names(resource_.of(path));
  }

  core::GateAnswer refused(JwtFault fault, std::string_view path) {
    failures_.add(label(fault));
    std::string why(sentence(fault));
    if (fault == JwtFault::keys_unavailable) {
      core::PolicyError out = denial(EndReason::upstream_unreachable, 503, std::move(why), {});
      out.headers.emplace_back("Retry-After", "10");
      return out;
    }
    Challenge challenge{"invalid_token", why, joined(config::without_rules(rules_.required())),
                        resource_.metadata_url(path)};
    return denial(EndReason::unauthorized, 401, std::move(why), challenge.text());
  }

  // The last callback may destroy this plugin.
  void settled() {
    std::vector<Waiting> waiting = std::exchange(waiting_, {});
    const auto watch = lifetime_.watch();
    for (Waiting& one : waiting) {
      if (watch.gone()) return;
      auto answer = examine(one.token, one.path, Wait::never);
      one.done(std::move(*answer));
    }
  }

  std::string name_, issuer_;
  std::vector<std::string> audiences_, algorithms_, types_;
  double leeway_;
  uint64_t most_bytes_;
  const std::string listener_, realm_;
  const bool has_resource_;
  const std::vector<std::string> claims_;  // those of its callers
  plugin::Host& host_;
  Resource resource_;
  AuthScopes rules_;
  Failures failures_;
  TokenCache cache_{kMaxCached};
  std::vector<Waiting> waiting_;
  uint64_t cached_ = 0, verified_ = 0;
  KeySource source_;
  net::Lifetime lifetime_;
};

// An attacker on a plain http connection could replace the keys, and so admit anyone.
std::string_view check_jwks_url(const config::Value& value) {
  std::string_view url = value.text;
  if (url.empty() || url.rfind("https://", 0) == 0) return {};
  constexpr std::string_view kPlain = "http://";
  if (url.rfind(kPlain, 0) == 0) {
    const std::string_view host = host_of_url(url);
    if (host.empty()) return "a URL of keys holds a host, and no user and password";
    if (is_own_host(host)) return {};
  }
  return "keys over plain http can be replaced on their way. Write https:// (with jwks.caFile for an "
         "authority of your own), http:// for this machine alone (127.0.0.1, [::1], localhost), or jwks.file";
}

void look_at_key_set(const config::PluginEntry& entry, std::vector<config::PluginFinding>& findings) {
  const bool file = !entry.values.text("jwks.file").empty(), url = !entry.values.text("jwks.url").empty();
  if (file == url)
    findings.push_back({"jwks", "missing-option", "give either jwks.url or jwks.file",
                        "jwks: { url: \"…\" }: the jwks_uri of the issuer's metadata"});
  const KeySourceOptions source = source_options(entry);
  if (file) {
    if (auto read = read_key_set(source.file); !read)
      findings.push_back(
          {"jwks.file", "bad-key-file", read.error().text, "the issuer's JWKS, as its jwks_uri gives it"});
  }
  if (source.ca_file.empty()) return;
  if (auto context = net::TlsContext::for_client({source.ca_file, {}, {}}); !context)
    findings.push_back({"jwks.caFile", "bad-file", context.error().text, "a PEM file of authorities"});
}

constexpr plugin::MetricRow kMetrics[] = {
    kAuthFailures,
    {"lineward_jwt_checks_total", "counter", "how",
     "Access tokens: signatures checked, and known from before."},
    {"lineward_jwks_fetches_total", "counter", "", "Times that the issuer's keys were asked for."},
    {"lineward_jwks_failures_total", "counter", "", "Key sets that could not be read, had or used."},
};

const config::PluginSpec& spec() {
  static const config::PluginSpec kSpec = [] {
    constexpr uint64_t kSecond = 1000, kDay = 86400 * kSecond;
    config::PluginSpec spec{
        "jwt",
        "Admits callers with an access token of this issuer, as an OAuth resource server; docs/auth.md.",
        true,
        {plugin_option("issuer", Kind::text, "", 0, 0, "The `iss` of its tokens, to the letter."),
         plugin_option(
             "audiences", Kind::list, "", 0, 0,
             "At least one value must be in `aud`. Empty: auth.resourceMetadata.resource, and below it the "
             "server's own path."),
         plugin_option("jwks.url", Kind::text, "", 0, 0, "Its public keys; https, or http on this machine.",
                       check_jwks_url),
         plugin_option("jwks.file", Kind::text, "", 0, 0, "The same as a file, read again when it changes."),
         plugin_option(
             "jwks.refresh", Kind::duration, "10m", 1 * kSecond, 7 * kDay,
             "How often they are fetched; sooner when a token names an unknown key, at most every 10s."),
         plugin_option("jwks.maxStale", Kind::duration, "24h", 0, 365 * kDay,
                       "How long keys are good after that when they cannot be fetched."),
         plugin_option("jwks.caFile", Kind::text, "", 0, 0,
                       "Authorities to trust for jwks.url instead of the system's, PEM."),
         plugin_option(
             "algorithms", Kind::list, "", 0, 0,
             "Some of RS256 to RS512, PS256 to PS512, ES256 to ES512 and EdDSA; empty: all. Never HS* and "
             "none."),
         plugin_option("types", Kind::list, "", 0, 0,
                       "The required `typ`, such as at+jwt (RFC 9068); empty: JWT, at+jwt or none."),
         plugin_option("leeway", Kind::duration, "30s", 0, 600 * kSecond,
                       "How far clocks may differ, for exp, nbf and iat."),
         plugin_option("maxTokenBytes", Kind::size, "8KiB", 256, 64 * 1024, "The longest token.")},
        {"issuer"},
        look_at_key_set};
    for (config::Option& option : AuthScopes::options())
      spec.options.push_back(option);
    return spec;
  }();
  return kSpec;
}

}  // namespace

plugin::Type jwt() {
  return {
      &spec(), kMetrics,
      [](const config::PluginEntry& entry, plugin::Host& host) -> Result<std::unique_ptr<plugin::Plugin>> {
        bool file = !entry.values.text("jwks.file").empty(), url = !entry.values.text("jwks.url").empty();
        if (file == url) return fail("give either jwks.url or jwks.file");
        auto made = std::make_unique<Jwt>(entry, host);
        if (auto started = made->start(); !started) return fail(started.error().text);
        return Result<std::unique_ptr<plugin::Plugin>>(std::move(made));
      }};
}

}  // namespace lineward::plugins

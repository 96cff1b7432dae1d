// Callers that a proxy in front has authenticated: it names them in headers. The proxy is known by its
// network, by a shared secret, or by both. The principal is "proxy:SUBJECT". From anyone else these headers
// mean nothing, and no server gets them (config::Identity::withheld).
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "config/auth_blocks.h"
#include "foundation/net/networks.h"
#include "plugins/auth/auth_common.h"
#include "plugins/common/types.h"
#include "proxy/core/identity.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using mcp::EndReason;
using plugin::Judgement;

constexpr size_t kMaxSubject = 256;
constexpr size_t kMinSecret = 16;
constexpr size_t kMaxValues = 256;  // of a claim, or scopes

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// A digest has a fixed size, so that a comparison does not show the secret's length.
Digest digest_of(std::string_view text) {
  Digest out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

// The elements between these characters, without blanks around them.
std::vector<std::string> split(std::string_view text, std::string_view between) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(between), text.size());
    const std::string_view one = http::trim_white_space(text.substr(0, end));
    if (!one.empty()) out.emplace_back(one);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

class TrustedProxy final : public plugin::Plugin, public plugin::Authenticator {
 public:
  TrustedProxy(const config::PluginEntry& entry, plugin::Host& host, net::Networks networks)
      : name_(entry.name),
        subject_header_(entry.values.text("subjectHeader")),
        scopes_header_(entry.values.text("scopesHeader")),
        secret_header_(entry.values.text("secretHeader")),
        claims_(entry.values.map("claims")),
        realm_(entry.realm()),
        has_networks_(!entry.values.list("networks").empty()),
        networks_(std::move(networks)),
        has_secret_(!entry.values.text("secret").empty()),
        secret_(digest_of(entry.values.text("secret"))),
        resource_(host, entry.listener),
        rules_(entry.values) {
    rules_.say_if_unused(name_, host);
  }

  // plugin::Plugin
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override {
    if (!rules_.has_rules()) return nullptr;
    const plugin::RequestInfo facts = exchange.facts();
    const bool mine = facts.caller == nullptr || facts.caller->by == name_;
    if (facts.on_stdio || !mine) return nullptr;
    return std::make_unique<ScopeCheck>(rules_, resource_, failures_, false);
  }
  plugin::Authenticator* authenticator() override { return this; }
  void count(plugin::CounterSink& sink) const override { failures_.count(sink); }

  // plugin::Authenticator
  Judgement judge(const core::GateRequest& request, core::GateDone) override {
    // Another replica is no proxy, whatever its address: its requests have an empty hop.
    if (has_networks_ && (request.hop.empty() || !networks_.contains(request.hop))) return {};
    if (has_secret_) {
      const size_t shown = request.headers.count(std::string_view(secret_header_));
      if (shown == 0) return {};
      const Digest digest = digest_of(request.headers.get(std::string_view(secret_header_)));
      if (shown > 1 || CRYPTO_memcmp(digest.data(), secret_.data(), digest.size()) != 0)
        return refused("secret", EndReason::unauthorized, 401, "the secret of the proxy in front is wrong");
    }
    const size_t named = request.headers.count(std::string_view(subject_header_));
    if (named == 0) return {};
    const std::string_view subject = request.headers.get(std::string_view(subject_header_));
    if (named > 1 || subject.empty() || subject.size() > kMaxSubject) {
      return refused("malformed", EndReason::invalid_request, 400,
                     "the proxy in front names no single caller of 1 to 256 bytes");
    }
    auto caller = std::make_shared<core::Caller>();
    caller->principal = realm_ + "proxy:" + unambiguous(subject);
    caller->name = caller_name(subject);
    caller->by = name_;
    caller->kind = "proxy";
    caller->subject = subject;
    if (!scopes_header_.empty()) caller->scopes = all(request.headers, scopes_header_, ", ");
    for (const auto& [claim, header] : claims_) {
      core::Claim one{claim, all(request.headers, header, ",")};
      if (!one.values.empty()) caller->claims.push_back(std::move(one));
    }
    if (!core::identity_fault(*caller).empty()) {
      return refused("malformed", EndReason::invalid_request, 400,
                     "the proxy in front says more than 4096 bytes in one claim");
    }
    if (!has_all(*caller, rules_.required())) {
      return refused("scope", EndReason::forbidden, 403,
                     "this caller lacks the scope " + joined(rules_.required()));
    }
    return {Judgement::Kind::decided, core::CallerPtr(std::move(caller))};
  }

  std::string challenge(const core::GateRequest&) const override { return {}; }

 private:
  // Several fields of one name are one list.
  static std::vector<std::string> all(const http::HeaderList& headers, std::string_view name,
                                      std::string_view between) {
    std::vector<std::string> out;
    for (const auto& header : headers.all()) {
      if (!http::equals_ignoring_case(header.name, name)) continue;
      for (std::string& one : split(header.value, between))
        out.push_back(std::move(one));
    }
    if (out.size() > kMaxValues) out.resize(kMaxValues);
    return out;
  }

  Judgement refused(std::string_view label, EndReason reason, int status, std::string text) {
    failures_.add(label);
    return {Judgement::Kind::decided, denial(reason, status, std::move(text), {})};
  }

  const std::string name_, subject_header_, scopes_header_, secret_header_;
  const std::vector<std::pair<std::string, std::string>> claims_;  // name → header
  const std::string realm_;
  const bool has_networks_;
  const net::Networks networks_;
  const bool has_secret_;
  const Digest secret_;
  Resource resource_;
  AuthScopes rules_;
  Failures failures_;
};

bool is_header(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    const bool digit = c >= '0' && c <= '9';
    return digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

constexpr const char* kHeaderName = "a header's name is made of letters, digits, - and _";

std::string_view check_header(const config::Value& value) {
  return value.text.empty() || is_header(value.text) ? std::string_view() : kHeaderName;
}

std::string_view check_claims(const config::Value& value) {
  if (value.map.size() > 32) return "at most 32 claims can be named";
  for (const auto& [claim, header] : value.map) {
    if (!is_header(header)) return kHeaderName;
  }
  return {};
}

std::string_view check_networks(const config::Value& value) {
  return net::Networks::parse(value.list) ? std::string_view()
                                          : "an entry is no network, no address and not unix";
}

std::string_view check_secret(const config::Value& value) {
  return value.text.empty() || value.text.size() >= kMinSecret ? std::string_view()
                                                               : "a secret has 16 characters or more";
}

void look_at_proxy(const config::PluginEntry& entry, std::vector<config::PluginFinding>& findings) {
  if (entry.values.list("networks").empty() && entry.values.text("secret").empty()) {
    findings.push_back({"", "missing-option", "give networks: or secret:, else any client could name itself",
                        "networks: [10.0.0.5], or secret: ${file:/run/secrets/proxy}"});
  }
  const auto networks = net::Networks::parse(entry.values.list("networks"));
  if (networks && networks->has_everyone() && entry.values.text("secret").empty()) {
    findings.push_back({"networks", "everyone", "networks has every address: any client could name itself",
                        "name the addresses of the proxy, or add a secret", true});
  }
  if (entry.values.text("subjectHeader").empty())
    findings.push_back({"subjectHeader", "missing-option", "subjectHeader names the header with the caller",
                        "subjectHeader: X-Forwarded-User"});
  if (!entry.values.text("secret").empty() && entry.values.text("secretHeader").empty())
    findings.push_back({"secretHeader", "missing-option", "secretHeader names the header with the secret",
                        "secretHeader: X-Proxy-Secret"});
}

constexpr plugin::MetricRow kMetrics[] = {kAuthFailures};

const config::PluginSpec& spec() {
  static const config::PluginSpec kSpec = [] {
    config::PluginSpec spec{
        "trustedProxy",
        "Admits callers that a proxy in front has authenticated and names in headers; docs/identity.md.",
        true,
        {plugin_option("networks", Kind::list, "", 0, 0,
                       "Networks and addresses of the proxy, or unix. From any other peer its headers mean "
                       "nothing. With a secret too, both have to fit.",
                       check_networks),
         plugin_option("secret", Kind::text, "", 0, 0,
                       "A secret that the proxy adds to each request; write ${env:NAME} or ${file:/path}.",
                       check_secret),
         plugin_option("secretHeader", Kind::text, "X-Proxy-Secret", 0, 0, "The header with that secret.",
                       check_header),
         plugin_option("subjectHeader", Kind::text, "X-Forwarded-User", 0, 0,
                       "The header that names the caller. A request without it has no caller of this kind.",
                       check_header),
         plugin_option("scopesHeader", Kind::text, "", 0, 0,
                       "The header with the caller's scopes, separated by blanks or commas.", check_header),
         plugin_option(
             "claims", Kind::map, "", 0, 0,
             "Claims about the caller, each with its header: { groups: X-Forwarded-Groups }. Commas "
             "separate the values.",
             check_claims)},
        {},
        look_at_proxy};
    for (config::Option& option : AuthScopes::options())
      spec.options.push_back(option);
    return spec;
  }();
  return kSpec;
}

}  // namespace

plugin::Type trusted_proxy() {
  return {
      &spec(), kMetrics,
      [](const config::PluginEntry& entry, plugin::Host& host) -> Result<std::unique_ptr<plugin::Plugin>> {
        if (entry.values.list("networks").empty() && entry.values.text("secret").empty())
          return fail("give networks: or secret:");
        auto networks = net::Networks::parse(entry.values.list("networks"));
        if (!networks) return fail("networks: " + networks.error().text);
        return Result<std::unique_ptr<plugin::Plugin>>(
            std::make_unique<TrustedProxy>(entry, host, std::move(*networks)));
      }};
}

}  // namespace lineward::plugins

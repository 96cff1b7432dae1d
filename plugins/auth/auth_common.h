// What the plugins that know callers share: credentials in a request's head, the names of this protected
// resource (RFC 9728), challenges (RFC 6750, RFC 9110 11.6.1), and scopes that a request needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options/plugin_spec.h"
#include "plugin/host.h"
#include "plugin/plugin.h"

namespace lineward::plugins {

// The token of `Authorization: Bearer …`; nothing when there is none or it is of another scheme.
std::optional<std::string_view> bearer_token(const http::HeaderList& headers);

// Bounded, printable ASCII: what a caller is called in logs.
std::string caller_name(std::string_view text);
// For principals: every byte that is no unreserved letter of a key that something is appended to (spaces,
// quotes, braces, controls, '%') as %XX. Different texts stay different.
std::string unambiguous(std::string_view text);

// The resource identifiers of the endpoints, and where their metadata are.
class Resource {
 public:
  explicit Resource(const plugin::Host& host) : config_(host.config()) {}
  bool known() const { return !config_.auth.resource_metadata.resource.empty(); }
  // Of a request's path: the configured resource, and below it what follows listen.path.
  std::string of(std::string_view path) const;
  std::string metadata_url(std::string_view path) const;
  // The path of what a client addressed (plugin::RequestFacts::endpoint).
  std::string path_of(std::string_view endpoint) const;

 private:
  const config::Config& config_;
};

// `Bearer error="…", error_description="…", scope="…", resource_metadata="…"`; what is empty is left out.
struct Challenge {
  std::string error, description, scope, metadata;
  std::string text() const;
};

core::Denial denial(mcp::EndReason reason, int status, std::string text, std::string challenge);

// Failures by reason, for `lineward_auth_failures_total`. Reasons are names of ours.
class Failures {
 public:
  void add(std::string_view reason) { ++by_reason_[reason]; }
  void count(plugin::CounterSink& sink) const;

 private:
  std::map<std::string_view, uint64_t> by_reason_;
};
inline constexpr plugin::MetricRow kAuthFailures{"lineward_auth_failures_total", "counter", "reason",
                                                 "Requests that were refused for their credentials."};

// Which scopes requests need: requiredScopes, methodScopes and toolScopes of a plugin's options.
class AuthScopes {
 public:
  explicit AuthScopes(const config::PluginValues& values);
  static std::vector<config::Option> options();

  bool has_rules() const { return !methods_.empty() || !tools_.empty(); }
  // On stdio nobody is asked for credentials, and these rules are about no one: said once where some stand in
  // the configuration.
  void say_if_unused(const std::string& plugin, const plugin::Host& host) const;
  const std::vector<std::string>& required() const { return required_; }
  // For this request, those that every request needs included; nothing where no rule is about it and nobody
  // was recognised, since anonymous callers cannot have what every credential must. What is asked of a task
  // needs what its tool needs, and of a task whose tool is not known what every tool of the rules does.
  std::vector<std::string> needed(const plugin::RequestFacts& facts, const mcp::Message& request) const;
  // The tasks for which alone this listen is refused to its caller; empty: there is more that speaks against
  // it.
  std::vector<std::string> refused_tasks(const plugin::RequestFacts& facts,
                                         const mcp::Message& request) const;

 private:
  struct Needs {
    std::vector<std::string> scopes;
    bool matched = false;  // a rule is about it
    bool met_by(const core::Caller* caller) const;
  };
  void add_tool(Needs& needs, const std::string* name) const;  // null: every tool of the rules
  void add_task(Needs& needs, const plugin::RequestFacts& facts, const std::string& id) const;
  Needs without_tasks(const plugin::RequestFacts& facts) const;
  using Rules = std::vector<std::pair<std::string, std::vector<std::string>>>;  // glob → scopes
  std::vector<std::string> required_;
  Rules methods_, tools_;
};
bool has_all(const core::Caller& caller, const std::vector<std::string>& scopes);
std::string joined(const std::vector<std::string>& scopes);
// What a challenge asks for from a caller who lacks some of what is needed: that, and as much of what it has
// as a header has room for. A client that takes a challenge literally would else lose what it was granted,
// and where several policies want something go from one to the other for ever (2025-11-25 authorization,
// "Runtime Insufficient Scope Errors"; 2026-07-28 leaves it to the server, and has clients keep what they
// have).
std::string scopes_to_ask(const core::Caller& caller, const std::vector<std::string>& needed);

// Refuses a JSON-RPC request whose caller lacks a scope (403, step-up) or is nobody (401). For callers that
// this plugin vouches for, and for anonymous ones, who have no scopes: leaving a credential away must not
// mean more than bringing one.
class ScopeCheck final : public plugin::Hook {
 public:
  ScopeCheck(const AuthScopes& rules, const Resource& resource, Failures& failures, bool challenges)
      : rules_(rules), resource_(resource), failures_(failures), challenges_(challenges) {}
  plugin::Verdict on_client_message(plugin::ExchangeView& exchange, mcp::Message& message) override;
  plugin::Verdict on_upstream_message(plugin::ExchangeView& exchange, mcp::Message& message) override;

 private:
  const AuthScopes& rules_;
  const Resource& resource_;
  Failures& failures_;
  bool challenges_;
};

}  // namespace lineward::plugins

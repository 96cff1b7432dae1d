// Shared by the authenticating plugins: credentials in a request's head, resource identifiers (RFC 9728),
// challenges (RFC 6750, RFC 9110 section 11.6.1), and required scopes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options/plugin_spec.h"
#include "proxy/plugin/host.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugins {

// The token of `Authorization: Bearer …`; nullopt if there is none, or for another scheme.
std::optional<std::string_view> bearer_token(const http::HeaderList& headers);
// The same with any characters; a token has only those of is_token68().
std::optional<std::string_view> bearer_text(const http::HeaderList& headers);
bool is_token68(std::string_view text);

// A caller's name for logs: bounded, printable ASCII.
std::string caller_name(std::string_view text);
// Escapes text for principals: every byte becomes %XX, except token68 characters without '=', and '@', ':',
// '|'. Different texts stay different.
std::string unambiguous(std::string_view text);

// The resource identifiers of the endpoints, and their metadata URLs.
class Resource {
 public:
  // `listener`: a further one with an auth of its own; any other: those of the gateway's auth.
  Resource(const plugin::Host& host, std::string listener)
      : config_(host.config()), listener_(std::move(listener)) {}
  bool known() const { return !url().empty(); }
  // The configured one; empty: none.
  const std::string& url() const;
  // For a request's path: the configured resource, plus the part of the path after listen.path.
  std::string of(std::string_view path) const;
  std::string metadata_url(std::string_view path) const;
  // The path that the client addressed (plugin::RequestInfo::endpoint).
  std::string path_of(std::string_view endpoint) const;

 private:
  const config::FurtherListen* own() const;  // the listener, if it has an auth of its own
  const config::Listen& listen() const;

  const config::Config& config_;
  const std::string listener_;
};

// `Bearer error="…", error_description="…", scope="…", resource_metadata="…"`; empty members are omitted.
struct Challenge {
  std::string error, description, scope, metadata;
  std::string text() const;
};

core::PolicyError denial(mcp::EndReason reason, int status, std::string text, std::string challenge);

// Failures by reason, for `lineward_auth_failures_total`. Reasons are Lineward's own names.
class Failures {
 public:
  void add(std::string_view reason) { ++by_reason_[reason]; }
  void count(plugin::CounterSink& sink) const;

 private:
  std::map<std::string_view, uint64_t> by_reason_;
};
inline constexpr plugin::MetricRow kAuthFailures{"lineward_auth_failures_total", "counter", "reason",
                                                 "Requests that were refused for their credentials."};

// The scopes that requests need: requiredScopes, methodScopes and toolScopes of a plugin's options.
class AuthScopes {
 public:
  explicit AuthScopes(const config::PluginValues& values);
  static std::vector<config::Option> options();

  bool has_rules() const { return !methods_.empty() || !tools_.empty(); }
  // On stdio there is no authentication, so these rules have no effect: logs that once if the configuration
  // has some.
  void say_if_unused(const std::string& plugin, const plugin::Host& host) const;
  const std::vector<std::string>& required() const { return required_; }
  // The scopes for this request, including those for every request. nullopt if no rule matches and the caller
  // is anonymous: anonymous callers cannot have the scopes required of every credential. A request about a
  // task needs its tool's scopes; if the tool is unknown, those of every tool in the rules.
  std::vector<std::string> needed(const plugin::RequestInfo& facts, const mcp::Message& request) const;
  // The tasks because of which this listen is refused; empty: there are other reasons too.
  std::vector<std::string> refused_tasks(const plugin::RequestInfo& facts, const mcp::Message& request) const;

 private:
  struct Needs {
    std::vector<std::string> scopes;
    bool matched = false;  // a rule matches
    bool met_by(const core::Caller* caller) const;
  };
  void add_tool(Needs& needs, const std::string* name) const;  // null: every tool of the rules
  void add_task(Needs& needs, const plugin::RequestInfo& facts, const std::string& id) const;
  Needs without_tasks(const plugin::RequestInfo& facts) const;
  using Rules = std::vector<std::pair<std::string, std::vector<std::string>>>;  // glob → scopes
  std::vector<std::string> required_;
  Rules methods_, tools_;
};
bool has_all(const core::Caller& caller, const std::vector<std::string>& scopes);
std::string joined(const std::vector<std::string>& scopes);
// The scopes for a challenge: the missing ones, and as many of the caller's own as fit in a header. A client
// that takes a challenge literally would otherwise lose its granted scopes, and alternate for ever between
// policies. See 2025-11-25 authorization, "Runtime Insufficient Scope Errors"; 2026-07-28 leaves the choice
// to the server, and has clients keep their scopes.
std::string scopes_to_ask(const core::Caller& caller, const std::vector<std::string>& needed);

// Refuses a request if its caller lacks a scope (403, step-up) or is anonymous (401). Applies to callers
// authenticated by this plugin, and to anonymous ones, which have no scopes: omitting a credential must not
// grant more than sending one.
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

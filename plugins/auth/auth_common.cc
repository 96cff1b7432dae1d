#include "plugins/auth/auth_common.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "config/aggregate.h"
#include "config/auth_blocks.h"
#include "config/claim_rules.h"
#include "foundation/base/glob.h"
#include "foundation/log/log.h"
#include "plugins/common/task_book.h"

namespace lineward::plugins {
namespace {

constexpr size_t kMaxName = 64;
// Limits of the caller's own scopes in a challenge.
constexpr size_t kMaxHeld = 64;
constexpr size_t kMaxHeldBytes = 1024;

constexpr std::array<bool, 256> kToken68 = [] {
  std::array<bool, 256> table{};
  for (unsigned char c :
       std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~+/="))
    table[c] = true;
  return table;
}();

// Lineward's own texts have no characters that a quoted-string cannot hold.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c >= 0x20 && c < 0x7f) out += c;
  }
  return out + '"';
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    size_t end = std::min(text.size(), text.find(' '));
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

void add_all(std::vector<std::string>& to, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }
}

constexpr std::string_view kWellKnown = "/.well-known/oauth-protected-resource";

// RFC 6749, section 3.3.
std::string_view check_scopes(std::string_view text) {
  for (const std::string& one : words(text)) {
    if (!config::is_claim_rule(one)) continue;
    if (auto fault = config::rule_fault(one); !fault.empty()) return fault;
  }
  bool plain = std::all_of(text.begin(), text.end(),
                           [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  return plain ? std::string_view() : "a scope is printable ASCII without quotes and backslashes";
}

std::string_view check_list(const config::Value& value) {
  for (const std::string& one : value.list) {
    if (auto fault = check_scopes(one); !fault.empty()) return fault;
  }
  return {};
}

std::string_view check_map(const config::Value& value) {
  for (const auto& [glob, scopes] : value.map) {
    if (words(scopes).empty()) return "a rule is a glob and the scopes that it needs, separated by spaces";
    if (auto fault = check_scopes(scopes); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace

bool is_token68(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return kToken68[static_cast<unsigned char>(c)]; });
}

std::optional<std::string_view> bearer_text(const http::HeaderList& headers) {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view value = headers.get("Authorization");
  if (value.size() <= kScheme.size() ||
      !http::equals_ignoring_case(value.substr(0, kScheme.size()), kScheme)) {
    return std::nullopt;
  }
  return http::trim_white_space(value.substr(kScheme.size()));
}

std::optional<std::string_view> bearer_token(const http::HeaderList& headers) {
  const auto token = bearer_text(headers);
  return token && !is_token68(*token) ? std::string_view() : token;
}

std::string caller_name(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, kMaxName))
    out += c > 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '?';
  if (text.size() > kMaxName) out += "...";
  return out;
}

std::string unambiguous(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    bool plain = c != '=' && (kToken68[c] || c == '@' || c == ':' || c == '|');
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

const std::string& Resource::url() const {
  return config::auth_of(config_, listener_).resource_metadata.resource;
}

const config::FurtherListen* Resource::own() const {
  return config::has_own_auth(config_, listener_) ? config::find_listener(config_, listener_) : nullptr;
}

const config::Listen& Resource::listen() const {
  const config::FurtherListen* found = own();
  return found != nullptr ? found->listen : config_.listen;
}

std::string Resource::of(std::string_view path) const {
  const std::string& base = url();
  const std::string_view mount = listen().mount();
  const bool below = path != listen().path && path.size() > mount.size() &&
                     path.substr(0, mount.size()) == mount && path[mount.size()] == '/';
  if (!below) return base;
  std::string_view rest = path.substr(mount.size());
  return (base.back() == '/' ? base.substr(0, base.size() - 1) : base) + std::string(rest);
}

std::string Resource::metadata_url(std::string_view path) const {
  if (!known()) return {};
  std::string url = of(path);
  size_t scheme = url.find("://");
  size_t slash = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  if (slash == std::string::npos) return url + std::string(kWellKnown);
  std::string rest = url.substr(slash);
  return url.substr(0, slash) + std::string(kWellKnown) + (rest == "/" ? "" : rest);
}

std::string Resource::path_of(std::string_view endpoint) const {
  const config::FurtherListen* further = own();
  if (config::is_aggregate(endpoint))
    return further != nullptr && config_.aggregate.path.empty() ? listen().path : std::string(endpoint);
  const auto is_served = [&](const config::Server& one) {
    const bool all = further == nullptr || further->servers.empty();
    return !one.disabled && (all || std::find(further->servers.begin(), further->servers.end(), one.name) !=
                                        further->servers.end());
  };
  const auto served = std::count_if(config_.servers.begin(), config_.servers.end(), is_served);
  return served > 1 && !endpoint.empty() ? listen().below(endpoint) : listen().path;
}

std::string Challenge::text() const {
  std::string out = "Bearer";
  auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    out += fmt::format("{}{}={}", out.size() > 6 ? ", " : " ", name, in_quotes(value));
  };
  add("error", error);
  add("error_description", description);
  add("scope", scope);
  add("resource_metadata", metadata);
  return out;
}

core::PolicyError denial(mcp::EndReason reason, int status, std::string text, std::string challenge) {
  core::PolicyError out;
  out.reason = reason;
  out.status = status;
  out.text = std::move(text);
  if (!challenge.empty()) out.headers.emplace_back("WWW-Authenticate", std::move(challenge));
  return out;
}

void Failures::count(plugin::CounterSink& sink) const {
  for (const auto& [reason, count] : by_reason_)
    sink.add(kAuthFailures.name, reason, static_cast<double>(count));
}

AuthScopes::AuthScopes(const config::PluginValues& values) : required_(values.list("requiredScopes")) {
  for (const auto& [glob, scopes] : values.map("methodScopes"))
    methods_.emplace_back(glob, words(scopes));
  for (const auto& [glob, scopes] : values.map("toolScopes"))
    tools_.emplace_back(glob, words(scopes));
}

std::vector<config::Option> AuthScopes::options() {
  using config::Kind;
  using config::plugin_option;
  return {plugin_option("requiredScopes", Kind::list, "", 0, 0,
                        "Scopes that every caller admitted this way needs, and rules about its claims: "
                        "claim:NAME=VALUE, claim:NAME=ONE|OTHER.",
                        check_list),
          plugin_option("methodScopes", Kind::map, "", 0, 0,
                        "Glob of JSON-RPC methods: the scopes that they need too, separated by spaces.",
                        check_map),
          plugin_option("toolScopes", Kind::map, "", 0, 0,
                        "Glob of tools: the scopes that a call of them needs too.", check_map)};
}

void AuthScopes::say_if_unused(const std::string& plugin, const plugin::Host& host) const {
  if (host.config().listen.address != "stdio") return;
  std::vector<std::string> options;
  if (!required_.empty()) options.emplace_back("requiredScopes");
  if (!methods_.empty()) options.emplace_back("methodScopes");
  if (!tools_.empty()) options.emplace_back("toolScopes");
  if (options.empty()) return;
  log::write(log::Level::warn, "auth.unused",
             {{"plugin", plugin},
              {"options", joined(options)},
              {"why",
               "the client on stdio started this process, and needs no credentials; "
               "toolFilter holds there"}});
}

bool AuthScopes::Needs::met_by(const core::Caller* caller) const {
  return caller != nullptr ? has_all(*caller, scopes) : !matched;
}

void AuthScopes::add_tool(Needs& needs, const std::string* name) const {
  for (const auto& [glob, scopes] : tools_) {
    if (name != nullptr && !glob_match(glob, *name)) continue;
    needs.matched = true;
    add_all(needs.scopes, scopes);
  }
}

void AuthScopes::add_task(Needs& needs, const plugin::RequestInfo& facts, const std::string& id) const {
  const std::vector<std::string> behind = tasks::tools_of(facts.upstream, id);
  if (behind.empty()) add_tool(needs, nullptr);
  for (const std::string& one : behind)
    add_tool(needs, &one);
}

AuthScopes::Needs AuthScopes::without_tasks(const plugin::RequestInfo& facts) const {
  Needs needs{required_};
  for (const auto& [glob, scopes] : methods_) {
    if (!glob_match(glob, facts.method_name)) continue;
    needs.matched = true;
    add_all(needs.scopes, scopes);
  }
  if (facts.method == mcp::Method::tools_call) {
    const std::string target(facts.target);
    add_tool(needs, &target);
  }
  return needs;
}

std::vector<std::string> AuthScopes::needed(const plugin::RequestInfo& facts,
                                            const mcp::Message& request) const {
  Needs needs = without_tasks(facts);
  if (!tools_.empty()) {
    for (const std::string& id : tasks::named(facts.method, request))
      add_task(needs, facts, id);
  }
  if (facts.caller == nullptr && !needs.matched) needs.scopes.clear();
  return std::move(needs.scopes);
}

std::vector<std::string> AuthScopes::refused_tasks(const plugin::RequestInfo& facts,
                                                   const mcp::Message& request) const {
  std::vector<std::string> out;
  const bool is_judged = facts.method == mcp::Method::subscriptions_listen && !tools_.empty();
  if (!is_judged || !without_tasks(facts).met_by(facts.caller)) return out;
  for (const std::string& id : tasks::named(facts.method, request)) {
    Needs needs;
    add_task(needs, facts, id);
    if (!needs.met_by(facts.caller)) out.push_back(id);
  }
  return out;
}

bool has_all(const core::Caller& caller, const std::vector<std::string>& scopes) {
  return std::all_of(scopes.begin(), scopes.end(), [&](const std::string& one) { return caller.may(one); });
}

std::string joined(const std::vector<std::string>& scopes) {
  return fmt::format("{}", fmt::join(scopes, " "));
}

std::string scopes_to_ask(const core::Caller& caller, const std::vector<std::string>& needed) {
  std::vector<std::string> asked;
  size_t bytes = 0;
  for (const std::string& one : caller.scopes) {
    // A text that is not an OAuth scope cannot be requested, and could read as several (RFC 6749, section
    // 3.3).
    if (one.empty() || one.find(' ') != std::string::npos || !check_scopes(one).empty()) continue;
    if (asked.size() == kMaxHeld || bytes + one.size() > kMaxHeldBytes) break;
    bytes += one.size() + 1;
    add_all(asked, {one});
  }
  add_all(asked, config::without_rules(needed));
  return joined(asked);
}

plugin::Verdict ScopeCheck::on_upstream_message(plugin::ExchangeView& exchange, mcp::Message& message) {
  tasks::note(exchange.facts(), message);
  return plugin::Verdict::proceed;
}

plugin::Verdict ScopeCheck::on_client_message(plugin::ExchangeView& exchange, mcp::Message& message) {
  plugin::RequestInfo facts = exchange.facts();
  std::vector<std::string> needed = rules_.needed(facts, message);
  if (facts.caller != nullptr ? has_all(*facts.caller, needed) : needed.empty())
    return plugin::Verdict::proceed;
  failures_.add(facts.caller != nullptr ? "scope" : "missing");
  core::PolicyError refusal;
  refusal.parts = rules_.refused_tasks(facts, message);
  bool is_asked = true;  // credentials with more scopes
  Challenge challenge;
  challenge.scope =
      facts.caller != nullptr ? scopes_to_ask(*facts.caller, needed) : joined(config::without_rules(needed));
  challenge.metadata = resource_.metadata_url(resource_.path_of(facts.endpoint));
  if (facts.caller != nullptr) {
    refusal.reason = mcp::EndReason::forbidden;
    refusal.text =
        fmt::format("this request needs the scope{} {}", needed.size() == 1 ? "" : "s", joined(needed));
    challenge.error = "insufficient_scope";
    // No other scopes would help.
    if (has_all(*facts.caller, config::without_rules(needed))) is_asked = false;
  } else {
    refusal.reason = mcp::EndReason::unauthorized;
    refusal.text = "this request is not for anonymous callers: send credentials";
  }
  if (challenges_ && is_asked) refusal.headers.emplace_back("WWW-Authenticate", challenge.text());
  exchange.refuse(std::move(refusal));
  return plugin::Verdict::answered;
}

}  // namespace lineward::plugins

// Rules about claims of a caller, which stand wherever scopes do: "claim:tenant=acme",
// "claim:groups=admins|ops" (any of these values; docs/identity.md). A scope of that form is no scope. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::config {

inline bool is_claim_rule(std::string_view scope) {
  return scope.substr(0, 6) == "claim:";
}
inline std::string_view claim_of_rule(std::string_view rule) {
  rule = rule.substr(0, rule.find('='));
  return rule.size() < 6 ? std::string_view() : rule.substr(6);
}
// The accepted values, with %XX decoded; `|` separates them.
std::vector<std::string> values_of_rule(std::string_view rule);
// Why it is no rule; empty: it is one.
std::string_view rule_fault(std::string_view rule);
// The list without its rules: scopes that a client can ask for.
std::vector<std::string> without_rules(const std::vector<std::string>& scopes);

// Adds the claims that the rules of these plugins name.
void add_claims_of_rules(const std::vector<PluginEntry>& plugins, std::vector<std::string>& claims);

}  // namespace lineward::config

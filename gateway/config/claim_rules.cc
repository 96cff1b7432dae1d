#include "config/claim_rules.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "config/identity_words.h"

namespace lineward::config {
namespace {

int figure(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_escape(std::string_view text) {
  return text.size() >= 3 && text[0] == '%' && figure(text[1]) >= 0 && figure(text[2]) >= 0;
}

std::string decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool escaped = is_escape(text);
    out += escaped ? static_cast<char>(16 * figure(text[1]) + figure(text[2])) : text[0];
    text.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

void add_rules(std::string_view scopes, std::vector<std::string>& claims) {
  while (!scopes.empty()) {
    const size_t end = std::min(scopes.find(' '), scopes.size());
    const std::string_view one = scopes.substr(0, end);
    const std::string claim(is_claim_rule(one) ? claim_of_rule(one) : std::string_view());
    if (!claim.empty() && std::find(claims.begin(), claims.end(), claim) == claims.end())
      claims.push_back(claim);
    scopes.remove_prefix(std::min(end + 1, scopes.size()));
  }
}

}  // namespace

std::vector<std::string> values_of_rule(std::string_view rule) {
  std::vector<std::string> out;
  const size_t equals = rule.find('=');
  if (equals == std::string_view::npos) return out;
  rule.remove_prefix(equals + 1);
  while (!rule.empty()) {
    const size_t end = std::min(rule.find('|'), rule.size());
    if (end > 0) out.push_back(decoded(rule.substr(0, end)));
    rule.remove_prefix(std::min(end + 1, rule.size()));
  }
  return out;
}

std::string_view rule_fault(std::string_view rule) {
  if (rule.find('=') == std::string_view::npos || values_of_rule(rule).empty())
    return "a rule about a claim is claim:NAME=VALUE, or claim:NAME=ONE|OTHER";
  if (claim_of_rule(rule).empty()) return "a rule about a claim names it: claim:NAME=VALUE";
  const std::string word = "claim:" + std::string(claim_of_rule(rule));
  if (!word_fault(word).empty()) return "claim: takes the name of a claim, with dots between its levels";
  for (size_t at = rule.find('%'); at != std::string_view::npos; at = rule.find('%', at + 1)) {
    if (!is_escape(rule.substr(at))) return "a % in the value of a claim is written %25";
  }
  return {};
}

std::vector<std::string> without_rules(const std::vector<std::string>& scopes) {
  std::vector<std::string> out;
  std::copy_if(scopes.begin(), scopes.end(), std::back_inserter(out),
               [](const std::string& one) { return !is_claim_rule(one); });
  return out;
}

void add_claims_of_rules(const std::vector<PluginEntry>& plugins, std::vector<std::string>& claims) {
  static constexpr std::array<std::string_view, 3> kMaps{"methodScopes", "toolScopes", "scopes"};
  for (const PluginEntry& entry : plugins) {
    if (const Value* required = entry.values.find("requiredScopes")) {
      for (const std::string& one : required->list)
        add_rules(one, claims);
    }
    for (const std::string_view name : kMaps) {
      const Value* map = entry.values.find(name);
      if (map == nullptr) continue;
      for (const auto& [glob, scopes] : map->map)
        add_rules(scopes, claims);
    }
  }
}

}  // namespace lineward::config

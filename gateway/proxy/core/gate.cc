#include "proxy/core/gate.h"

#include "config/claim_rules.h"

namespace lineward::core {
namespace {

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one == text; });
}

}  // namespace

bool Caller::may(std::string_view scope) const {
  if (!config::is_claim_rule(scope)) return has(scopes, scope);
  const Claim* known = claim(config::claim_of_rule(scope));
  if (known == nullptr) return false;
  const std::vector<std::string> accepted = config::values_of_rule(scope);
  return std::any_of(accepted.begin(), accepted.end(),
                     [&](const std::string& value) { return has(known->values, value); });
}

bool Caller::has_all_of(const Caller& other) const {
  const bool has_scopes = std::all_of(other.scopes.begin(), other.scopes.end(),
                                      [&](const std::string& one) { return has(scopes, one); });
  return has_scopes && std::all_of(other.claims.begin(), other.claims.end(), [&](const Claim& theirs) {
           const Claim* own = claim(theirs.name);
           return own != nullptr &&
                  std::all_of(theirs.values.begin(), theirs.values.end(),
                              [&](const std::string& value) { return has(own->values, value); });
         });
}

}  // namespace lineward::core

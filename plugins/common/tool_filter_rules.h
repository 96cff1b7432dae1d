// Rules for visible and usable names, and filtering of lists by them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options/plugin_spec.h"
#include "foundation/base/result.h"
#include "protocol/mcp/message.h"
#include "proxy/core/gate.h"

namespace lineward::plugins {

const config::PluginSpec& tool_filter_spec();

// A denied name is never allowed; without `allow` all other names are.
struct NameRule {
  std::vector<std::string> allow, deny;  // globs
  bool empty() const { return allow.empty() && deny.empty(); }
  bool allows(std::string_view name) const;
  bool denies(std::string_view name) const;
};

// `scopes: { "admin_*": "admin tools:write" }`: the caller of a tool needs all scopes of every glob that
// matches it.
class ScopeRules {
 public:
  static Result<ScopeRules> make(const std::vector<std::pair<std::string, std::string>>& map);
  bool empty() const { return rules_.empty(); }
  // The scopes of a tool, without duplicates, in the order of the file.
  std::vector<std::string> needed(std::string_view tool) const;
  // Anonymous callers have no scopes.
  bool allow(std::string_view tool, const core::Caller* caller) const;
  // The scopes of all rules together: for a request that may reach any tool.
  std::vector<std::string> all() const;
  bool allow_all(const core::Caller* caller) const;

 private:
  struct Rule {
    std::string glob;
    std::vector<std::string> scopes;
  };
  std::vector<Rule> rules_;
};

// The raw values of all members of that name of an object, at any allowed depth: with duplicates, some
// readers take the first and others the last.
std::vector<std::string_view> values_named(std::string_view object, std::string_view name);

// Removes the elements of the result's list `list` that `keep` rejects. `name` is the member that names an
// element (exactly once, as a string), `raw` the whole element. If several elements have the same name, the
// first is kept; elements without a name are removed. A duplicate list is filtered too. Returns the number of
// removed elements.
using Keep = std::function<bool(const std::string& name, std::string_view raw)>;
size_t filter_list(mcp::Message& message, std::string_view list, std::string_view name, const Keep& keep);

}  // namespace lineward::plugins

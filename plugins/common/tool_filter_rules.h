// Which names may be seen and used, and lists without the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/options/plugin_spec.h"
#include "core/gate.h"
#include "mcp/message.h"

namespace lineward::plugins {

const config::PluginSpec& tool_filter_spec();

// A denied name is never allowed; without `allow` every other one is.
struct NameRule {
  std::vector<std::string> allow, deny;  // globs
  bool empty() const { return allow.empty() && deny.empty(); }
  bool allows(std::string_view name) const;
  bool denies(std::string_view name) const;
};

// `scopes: { "admin_*": "admin tools:write" }`: who calls a tool that a glob matches needs all of its scopes,
// of every glob that matches.
class ScopeRules {
 public:
  static Result<ScopeRules> make(const std::vector<std::pair<std::string, std::string>>& map);
  bool empty() const { return rules_.empty(); }
  // What a tool needs, each once, in the order of the file.
  std::vector<std::string> needed(std::string_view tool) const;
  // Whoever is nobody has no scopes.
  bool allow(std::string_view tool, const core::Caller* caller) const;
  // What every tool together needs that a rule names: for what may be any of them.
  std::vector<std::string> all() const;
  bool allow_all(const core::Caller* caller) const;

 private:
  struct Rule {
    std::string glob;
    std::vector<std::string> scopes;
  };
  std::vector<Rule> rules_;
};

// The raw values of all members of that name of an object, at any depth that a message may have: one reader
// takes the first of two, another the last.
std::vector<std::string_view> values_named(std::string_view object, std::string_view name);

// Takes the elements out of the list `list` of a result that `keep` does not want. `name` is the member that
// names an element (and has to stand in it once, as a string), `raw` all of it. Of several with one name the
// first counts; the others are left out, as are elements without a name. A list that stands twice is filtered
// twice. What it left out.
using Keep = std::function<bool(const std::string& name, std::string_view raw)>;
size_t filter_list(mcp::Message& message, std::string_view list, std::string_view name, const Keep& keep);

}  // namespace lineward::plugins

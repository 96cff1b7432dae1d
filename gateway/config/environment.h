// Which variables of Lineward's own environment a stdio server gets, beside those that its configuration
// gives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::config {

struct Server;

struct InheritedEnv {
  enum class Mode : uint8_t {
    usual,    // what programs need to run (PATH, HOME, locale, proxies …), and `names`
    minimal,  // PATH HOME LANG TZ TMPDIR
    all       // everything
  };
  Mode mode = Mode::usual;
  std::vector<std::string> names;
  bool operator==(const InheritedEnv&) const = default;
};

// LINEWARD_* and what is withheld from it are never passed on.
bool inherits(const Server& server, std::string_view name);
// Is it one of those that every program may have? They are never withheld.
bool is_usual_variable(std::string_view name);
// Whose values use which variables (${env:NAME}), by server; under the empty name what is no server's.
using VariableUses = std::map<std::string, std::set<std::string>>;
// A variable whose value somebody else of the configuration was given, a token as a rule, is kept from the
// others.
void withhold(std::vector<Server>& servers, const VariableUses& uses);

}  // namespace lineward::config

// Selects the variables of Lineward's own environment that a stdio server inherits.
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
    usual,    // variables most programs need (PATH, HOME, locale, proxies …), and `names`
    minimal,  // PATH HOME LANG TZ TMPDIR
    all       // everything
  };
  Mode mode = Mode::usual;
  std::vector<std::string> names;
  bool operator==(const InheritedEnv&) const = default;
};

// LINEWARD_* and withheld variables are never inherited.
bool inherits(const Server& server, std::string_view name);
// Whether every program may have the variable; such variables are never withheld.
bool is_usual_variable(std::string_view name);
// The variables (${env:NAME}) used by each server's values; the empty name stands for the rest of the file.
using VariableUses = std::map<std::string, std::set<std::string>>;
// Withholds variables that other parts of the configuration use (usually tokens) from all other servers.
void withhold(std::vector<Server>& servers, const VariableUses& uses);

}  // namespace lineward::config

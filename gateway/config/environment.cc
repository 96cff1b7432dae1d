#include "config/environment.h"

#include <array>

#include "config/config.h"
#include "foundation/base/is_among.h"

namespace lineward::config {
namespace {

constexpr std::array<std::string_view, 5> kMinimal{"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
// Proxies in both spellings: curl reads http_proxy in lower case only.
constexpr std::array<std::string_view, 13> kUsual{
    "USER",      "LOGNAME",    "SHELL",       "TERM",     "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",  "LANGUAGE"};

}  // namespace

bool is_usual_variable(std::string_view name) {
  return is_among(kMinimal, name) || is_among(kUsual, name) || name.substr(0, 3) == "LC_";
}

bool inherits(const Server& server, std::string_view name) {
  const InheritedEnv& env = server.inherit_env;
  if (name.substr(0, 9) == "LINEWARD_" || is_among(server.withheld_env, name)) return false;
  switch (env.mode) {
    case InheritedEnv::Mode::all: return true;
    case InheritedEnv::Mode::minimal: return is_among(kMinimal, name);
    case InheritedEnv::Mode::usual: return is_usual_variable(name) || is_among(env.names, name);
  }
  return false;
}

void withhold(std::vector<Server>& servers, const VariableUses& uses) {
  for (Server& server : servers) {
    auto own = uses.find(server.name);
    std::set<std::string> withheld;
    for (const auto& [user, names] : uses) {
      if (user == server.name) continue;
      for (const std::string& name : names) {
        bool its = own != uses.end() && own->second.count(name) > 0;
        // Variables it would not inherit are not recorded: a reload compares this.
        bool would =
            server.inherit_env.mode == InheritedEnv::Mode::all || is_among(server.inherit_env.names, name);
        if (!its && would && !is_usual_variable(name)) withheld.insert(name);
      }
    }
    server.withheld_env.assign(withheld.begin(), withheld.end());
  }
}

}  // namespace lineward::config

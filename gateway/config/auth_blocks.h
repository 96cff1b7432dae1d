// The authentication that holds at a listener: the gateway's, or its own (docs/listeners.md).
#pragma once

#include <algorithm>
#include <string_view>

#include "config/config.h"

namespace lineward::config {

// Null: there is no further listener of this name.
inline const FurtherListen* find_listener(const Config& config, std::string_view name) {
  auto found = std::find_if(config.listeners.begin(), config.listeners.end(),
                            [&](const FurtherListen& one) { return one.name == name; });
  return name.empty() || found == config.listeners.end() ? nullptr : &*found;
}

// Whether the listener has an `auth:` of its own.
inline bool has_own_auth(const Config& config, std::string_view listener) {
  const FurtherListen* found = find_listener(config, listener);
  return found != nullptr && found->auth.given;
}

inline const Auth& auth_of(const Config& config, std::string_view listener) {
  const FurtherListen* found = find_listener(config, listener);
  return found != nullptr && found->auth.given ? found->auth : config.auth;
}

// Whether clients show credentials to Lineward anywhere.
inline bool has_auth(const Config& config) {
  return config.auth.given || std::any_of(config.listeners.begin(), config.listeners.end(),
                                          [](const FurtherListen& one) { return one.auth.given; });
}

// Calls `look` with the gateway's auth, and then with that of each listener that has its own.
template <class F>
void each_auth(const Config& config, F&& look) {
  look(config.auth);
  for (const FurtherListen& one : config.listeners) {
    if (one.auth.given) look(one.auth);
  }
}

// Whether both have the same plugins, those that authenticate among them.
inline bool have_same_plugins(const Config& a, const Config& b) {
  const auto owns = [](const Config& in, const Config& as) {
    return std::all_of(in.listeners.begin(), in.listeners.end(), [&](const FurtherListen& one) {
      const FurtherListen* other = find_listener(as, one.name);
      return other != nullptr ? other->auth == one.auth : !one.auth.given;
    });
  };
  return a.plugins == b.plugins && a.auth == b.auth && owns(a, b) && owns(b, a);
}

}  // namespace lineward::config

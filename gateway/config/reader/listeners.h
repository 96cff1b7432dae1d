// Reads `listeners:`, a map of further listeners by name. Each has the options of `listen`; what it does not
// say is as there, except what belongs to the address itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/options/options.h"
#include "config/reader/load.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

inline constexpr std::string_view kListeners = "listeners";

// A listener as the file writes it, before it inherits.
struct WrittenListener {
  std::string name;
  Config said;                     // in its `listen`
  std::vector<const Option*> set;  // rows of `listen` that it sets
  std::vector<std::string> servers;
  bool authenticates = true;
  Auth auth;  // `given`: its own
};

// "/mcp/" means "/mcp": paths below it bring their own slash.
inline void take_off_slash(std::string& path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
}

class PluginReader;
// `plugins`: reads what an auth of its own has; null: there are none.
void read_listeners(ValueReader& values, PluginReader* plugins, const Member& member,
                    std::vector<WrittenListener>& out);
// Once `listen` has all its values.
void inherit_listeners(const std::vector<WrittenListener>& written, Config& config);

// The part of the file about a listener; null: none.
const Member* find_listener(const Node& root, const std::string& name);
// Rules between options; reported where they stand.
void check_listeners(const Node& root, const LoadOptions& options, LoadResult& result);

}  // namespace lineward::config

// The configured values of one plugin.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/value.h"
#include "foundation/base/check.h"

namespace lineward::config {

// Contains every option of the plugin's table, unset ones with their defaults. Looking up another name is a
// bug.
class PluginValues {
 public:
  const Value& at(std::string_view name) const {
    auto found = values_.find(name);
    LW_CHECK(found != values_.end());
    return found->second;
  }
  // Null: the plugin has no such option.
  const Value* find(std::string_view name) const {
    auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  const std::string& text(std::string_view name) const { return at(name).text; }
  uint64_t number(std::string_view name) const { return at(name).number; }  // the index of a choice
  bool flag(std::string_view name) const { return at(name).flag; }
  std::chrono::milliseconds duration(std::string_view name) const { return at(name).duration; }
  const std::vector<std::string>& list(std::string_view name) const { return at(name).list; }
  const std::vector<std::pair<std::string, std::string>>& map(std::string_view name) const {
    return at(name).map;
  }
  void set(std::string_view name, Value value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  bool operator==(const PluginValues&) const = default;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

// Removes "./" from a relative path, so that a folder can be prepended.
inline std::string_view without_here(std::string_view path) {
  while (path.size() > 2 && path.substr(0, 2) == "./")
    path.remove_prefix(2);
  return path;
}

// The name of `listen` among those of further listeners.
inline constexpr std::string_view kFirstListener = "listen";
// The beginning of the principals of a listener with an auth of its own.
inline std::string realm_of(const std::string& listener) {
  return listener.empty() ? std::string() : "listener:" + listener + "/";
}

struct PluginEntry {
  std::string type;                  // in the registry; "sharedObject" if `path` is set
  std::string name;                  // in logs and metrics: configured, else the type, "type-2" when repeated
  std::string path;                  // of a shared object
  std::vector<std::string> servers;  // only for these; empty: for all
  std::vector<std::string> listeners;  // only for requests that came to these; empty: to all
  std::string listener;       // authenticates at this further listener alone; empty: at all without an
                              // auth of their own
  bool has_resource = false;  // of an authenticating one: its auth has resourceMetadata
  std::vector<std::string> claims = {};  // of an authenticating one: those that the configuration uses
  PluginValues values;
  std::vector<std::pair<std::string, std::string>> raw;  // options of a shared object, as text
  std::string directory = ".";                           // of the configuration file: base of relative paths
  int line = 0;
  // A file that an option names; empty stays empty.
  std::string path_of(const std::string& file) const {
    return file.empty() || file.front() == '/' ? file : directory + "/" + std::string(without_here(file));
  }
  bool is_for(std::string_view server) const;
  // `at`: a further listener; empty: `listen`.
  bool is_at(std::string_view at) const;
  // The beginning of its callers' principals.
  std::string realm() const { return realm_of(listener); }
  // Ignores the position in the file.
  bool operator==(const PluginEntry& other) const {
    return type == other.type && name == other.name && path == other.path && servers == other.servers &&
           listeners == other.listeners && listener == other.listener && has_resource == other.has_resource &&
           claims == other.claims && values == other.values && raw == other.raw &&
           directory == other.directory;
  }
};

// The type of those that take callers from a proxy in front (plugins/auth/trusted_proxy.cc).
inline constexpr std::string_view kTrustedProxy = "trustedProxy";

// OAuth protected-resource metadata of this gateway (RFC 9728).
struct ResourceMetadata {
  std::string resource;  // the URL of listen.path as clients know it; servers are below it by name
  std::vector<std::string> authorization_servers;
  std::vector<std::string> scopes_supported;
  std::string name;           // resource_name, for people
  std::string documentation;  // resource_documentation, a URL
  bool operator==(const ResourceMetadata&) const = default;
};

// Authentication, of the gateway or of one further listener. Without it every caller is admitted as
// "anonymous".
struct Auth {
  bool given = false;      // there is an `auth:` section
  bool anonymous = false;  // callers without credentials are admitted as "anonymous"
  ResourceMetadata resource_metadata;
  std::vector<PluginEntry> methods;  // the authenticating plugins, in the order of the file
  int line = 0;
  bool operator==(const Auth& other) const {
    return given == other.given && anonymous == other.anonymous &&
           resource_metadata == other.resource_metadata && methods == other.methods;
  }
};

}  // namespace lineward::config

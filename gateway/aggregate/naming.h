// What the tools and prompts of a server are called where many servers are one (behaviour.md 7), and whose a
// name is. Pure; nothing here knows a server but by its configured name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/held_bytes.h"
#include "config/config.h"

namespace lineward::aggregate {

inline constexpr size_t kMaxNameBytes = 64;

// `prefix` and `name` as one name within [A-Za-z0-9_.-]{1,64}. What does not fit is cut or replaced, and ends
// with a hash of the whole, so that it stays the same for ever and differs from others.
std::string prefixed_name(std::string_view prefix, std::string_view name);

// Whose a name (or URI) is that cannot be told from the name alone. A name never changes its owner while this
// lives.
class Owners {
 public:
  struct Owner {
    std::string server;
    std::string original;
  };
  // At most that many names, and kMaxBytes of them.
  explicit Owners(size_t most) : most_(most) {}
  static constexpr size_t kMaxBytes = 16u << 20;

  const Owner* find(std::string_view shown) const;
  // What that of this server is shown as already; null when nothing was decided yet.
  const std::string* shown(std::string_view server, std::string_view original) const;
  // The first of the candidates that is free, or this server's own already, is its own from here on. Empty:
  // none is, or there are too many names.
  std::string claim(std::string_view server, std::string_view original,
                    const std::vector<std::string>& candidates);
  bool full() const { return by_shown_.size() >= most_ || bytes_ >= kMaxBytes; }
  size_t most() const { return most_; }

 private:
  static std::string key_of(std::string_view server, std::string_view original);

  size_t most_;
  HeldCount bytes_{Held::servers};
  // Ordered: names come from servers, which could choose them so that they meet in one bucket of a hash
  // table.
  std::map<std::string, Owner, std::less<>> by_shown_;
  std::map<std::string, std::string, std::less<>> by_original_;  // key_of → shown
};

// The names of one kind (tools, or prompts) at the aggregate.
class Names {
 public:
  Names(const config::Aggregate& rules, size_t most) : rules_(rules), owners_(most) {}

  // What clients see; empty when it has to be left out.
  std::string to_client(const std::string& server, const std::string& name);
  struct Target {
    std::string server;
    std::string name;
  };
  // Nothing: no server is known to have it. `servers`: those that there are.
  std::optional<Target> to_server(const std::string& shown, const std::vector<std::string>& servers) const;
  // Can only the servers' lists tell whose this name is?
  bool needs_lists(const std::string& shown) const;
  const Owners& owners() const { return owners_; }

 private:
  const config::Aggregate& rules_;
  Owners owners_;
};

}  // namespace lineward::aggregate

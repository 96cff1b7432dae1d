// The names of servers' tools and prompts at the aggregate (behaviour.md 7), and the owner of each name.
// Pure; servers are known by their configured names only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "proxy/aggregate/shared_names.h"

namespace lineward::aggregate {

inline constexpr size_t kMaxNameBytes = 64;

// `prefix` and `name` as one name within [A-Za-z0-9_.-]{1,64}. Unfit parts are cut or replaced, and a hash of
// the whole is appended, so that the name is stable and unique.
std::string prefixed_name(std::string_view prefix, std::string_view name);

// The owners of names (or URIs) that do not contain their server. A name keeps its owner until the owner is
// forgotten.
class Owners {
 public:
  struct Owner {
    std::string server;
    std::string original;
  };
  // At most `most` names, and kMaxBytes of them.
  explicit Owners(size_t most, NameKind kind = NameKind::tool) : most_(most), kind_(kind) {}
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;
  static constexpr size_t kMaxBytes = 16u << 20;

  const Owner* find(std::string_view shown) const;
  // The name already assigned to this server's item; null: none yet.
  const std::string* shown(std::string_view server, std::string_view original) const;
  // Assigns the first candidate that is free, or already this item's. Empty: none is, or there are too many
  // names.
  std::string claim(std::string_view server, std::string_view original,
                    const std::vector<std::string>& candidates);
  // Claims from now on hold for all workers; `sync` outlives this.
  void share(NameSync& sync) { sync_ = &sync; }
  // A claim that another worker has made.
  void take(const NameClaim& claim) { add(claim.shown, claim.server, claim.original); }
  // The names of this server are free from here on. False: it had none.
  bool forget(std::string_view server);
  bool full() const { return by_shown_.size() >= most_ || bytes_ >= kMaxBytes; }
  size_t most() const { return most_; }
  size_t size() const { return by_shown_.size(); }
  // While it stays the same, each name has the owner of before. Increases.
  uint64_t version() const { return version_; }

 private:
  static std::string key_of(std::string_view server, std::string_view original);
  void add(const std::string& shown, std::string_view server, std::string_view original);

  size_t most_;
  NameKind kind_;
  NameSync* sync_ = nullptr;
  HeldCount bytes_{Held::servers};
  uint64_t version_ = 0;
  // Ordered: names come from servers, which could choose colliding hash keys.
  std::map<std::string, Owner, std::less<>> by_shown_;
  std::map<std::string, std::string, std::less<>> by_original_;  // key_of → shown
};

// The names of one kind (tools, or prompts) at the aggregate.
class Names {
 public:
  Names(const config::Aggregate& rules, size_t most, NameKind kind = NameKind::tool)
      : rules_(rules), owners_(most, kind) {}

  // The clients' name; empty: the item is omitted.
  std::string to_client(const std::string& server, const std::string& name);
  struct Target {
    std::string server;
    std::string name;
  };
  // Empty: no server is known to have it. `servers`: the members.
  std::optional<Target> to_server(const std::string& shown, const std::vector<std::string>& servers) const;
  // Are the servers' lists needed to find the owner of this name?
  bool needs_lists(const std::string& shown) const;
  const Owners& owners() const { return owners_; }
  Owners& owners() { return owners_; }

 private:
  const config::Aggregate& rules_;
  Owners owners_;
};

}  // namespace lineward::aggregate

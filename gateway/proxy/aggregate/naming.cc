#include "proxy/aggregate/naming.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "config/aggregate.h"

namespace lineward::aggregate {
namespace {

constexpr size_t kHashDigits = 8;
constexpr size_t kMaxOriginal = 8192;  // longest stored name

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-';
}

std::string hash_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out;
  for (size_t i = 0; i < kHashDigits / 2; ++i)
    out += fmt::format("{:02x}", digest[i]);
  return out;
}

bool looks_hashed(std::string_view shown) {
  if (shown.size() <= kHashDigits || shown[shown.size() - kHashDigits - 1] != '_') return false;
  std::string_view end = shown.substr(shown.size() - kHashDigits);
  return std::all_of(end.begin(), end.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string prefixed_name(std::string_view prefix, std::string_view name) {
  std::string whole = std::string(prefix) + std::string(name);
  bool fits = whole.size() <= kMaxNameBytes && std::all_of(whole.begin(), whole.end(), is_name_char);
  if (fits && !name.empty()) return whole;
  std::string out = whole.substr(0, kMaxNameBytes - kHashDigits - 1);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_name_char(c); }, '_');
  return out + "_" + hash_of(whole);
}

// ---- owners ----

std::string Owners::key_of(std::string_view server, std::string_view original) {
  return std::string(server) + "/" + std::string(original);  // server names contain no slash
}

const Owners::Owner* Owners::find(std::string_view shown) const {
  auto found = by_shown_.find(shown);
  return found == by_shown_.end() ? nullptr : &found->second;
}

const std::string* Owners::shown(std::string_view server, std::string_view original) const {
  auto found = by_original_.find(key_of(server, original));
  return found == by_original_.end() ? nullptr : &found->second;
}

std::string Owners::claim(std::string_view server, std::string_view original,
                          const std::vector<std::string>& candidates) {
  if (const std::string* known = shown(server, original)) return *known;
  NameSync::Adding adding(sync_);
  if (const std::string* known = shown(server, original)) return *known;  // another worker's claim
  if (full() || original.size() > kMaxOriginal) return {};
  for (const std::string& candidate : candidates) {
    const Owner* owner = find(candidate);
    if (owner != nullptr && (owner->server != server || owner->original != original)) continue;
    add(candidate, server, original);
    adding.added(NameClaim{kind_, candidate, std::string(server), std::string(original)});
    return candidate;
  }
  return {};
}

void Owners::add(const std::string& shown, std::string_view server, std::string_view original) {
  by_shown_.try_emplace(shown, Owner{std::string(server), std::string(original)});
  if (!by_original_.try_emplace(key_of(server, original), shown).second) return;
  bytes_ += 2 * (shown.size() + original.size());
  ++version_;
}

bool Owners::forget(std::string_view server) {
  const uint64_t before = version_;
  const std::string begin = key_of(server, {});
  auto one = by_original_.lower_bound(begin);
  while (one != by_original_.end() && one->first.compare(0, begin.size(), begin) == 0) {
    auto shown = by_shown_.find(one->second);
    if (shown != by_shown_.end() && shown->second.server == server) by_shown_.erase(shown);
    bytes_ -= 2 * (one->second.size() + one->first.size() - begin.size());
    one = by_original_.erase(one);
    ++version_;
  }
  return version_ != before;
}

// ---- names ----

std::string Names::to_client(const std::string& server, const std::string& name) {
  const std::string prefix = config::rendered_prefix(rules_, server);
  std::string prefixed = prefixed_name(prefix, name);
  const auto is_plain = [&] {
    return prefixed.size() == prefix.size() + name.size() &&
           prefixed.compare(0, prefix.size(), prefix) == 0 &&
           prefixed.compare(prefix.size(), name.size(), name) == 0;
  };
  switch (rules_.prefix_mode) {
    case config::PrefixMode::always:
      // The reverse mapping needs no table.
      if (is_plain() && owners_.find(prefixed) == nullptr) return prefixed;
      return owners_.claim(server, name, {prefixed});
    case config::PrefixMode::on_conflict: return owners_.claim(server, name, {name, prefixed});
    case config::PrefixMode::never: return owners_.claim(server, name, {name});
  }
  return {};
}

std::optional<Names::Target> Names::to_server(const std::string& shown,
                                              const std::vector<std::string>& servers) const {
  if (const Owners::Owner* owner = owners_.find(shown)) return Target{owner->server, owner->original};
  if (rules_.prefix_mode != config::PrefixMode::always) return std::nullopt;
  for (const std::string& server : servers) {
    std::string prefix = config::rendered_prefix(rules_, server);
    if (shown.size() <= prefix.size() || shown.compare(0, prefix.size(), prefix) != 0) continue;
    return Target{server, shown.substr(prefix.size())};
  }
  return std::nullopt;
}

bool Names::needs_lists(const std::string& shown) const {
  if (owners_.find(shown) != nullptr) return false;
  if (rules_.prefix_mode != config::PrefixMode::always) return true;
  return looks_hashed(shown);
}

}  // namespace lineward::aggregate

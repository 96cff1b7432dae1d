// Tokens with a verified signature, by a digest with a secret key: verifying one again costs a look-up, and
// no token is kept. Bounded: least recently used tokens are dropped.
#pragma once

#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "foundation/base/keyed_digest.h"
#include "plugins/auth/jwt_token.h"
#include "proxy/core/gate.h"

namespace lineward::plugins {

struct VerifiedToken {
  core::CallerPtr caller;
  std::vector<std::string> audiences;
  double expires = 0, starts = 0;
};

class TokenCache {
 public:
  using Key = KeyedDigest;
  explicit TokenCache(size_t most) : half_(most / 2) {}

  const VerifiedToken* find(const Key& key) {
    if (auto found = young_.find(key); found != young_.end()) return &found->second;
    auto found = old_.find(key);
    if (found == old_.end()) return nullptr;
    VerifiedToken token = std::move(found->second);
    old_.erase(found);
    return &add(key, std::move(token));
  }
  const VerifiedToken& add(const Key& key, VerifiedToken token) {
    if (young_.size() >= half_) {
      old_ = std::move(young_);
      young_.clear();
    }
    return young_[key] = std::move(token);
  }
  void clear() {
    young_.clear();
    old_.clear();
  }
  size_t size() const { return young_.size() + old_.size(); }

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      size_t out = 0;
      std::memcpy(&out, key.data(), sizeof out);
      return out;
    }
  };
  size_t half_;
  std::unordered_map<Key, VerifiedToken, Hash> young_, old_;
};

}  // namespace lineward::plugins

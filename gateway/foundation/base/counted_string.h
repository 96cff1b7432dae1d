// Text of a peer that outlives its message: of a session, a group of callers, a store. It counts in the total
// of held bytes and in its caller's account (foundation/base/account.h). Long-lived objects keep such text
// only in these containers (tests/lint/kept.sh).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/base/memory_charge.h"

namespace lineward {

class CountedString {
 public:
  explicit CountedString(Held as) : held_(as) {}
  void keep(std::string text, const AccountPtr& whose = nullptr) {
    text.shrink_to_fit();
    text_ = std::move(text);
    held_.charge(whose);
    held_.set(text_.size());
  }
  void clear() { keep({}); }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  MemoryCharge held_;
};

// A set of texts.
class CountedStringSet {
 public:
  // The bytes counted for a node, without its text.
  static constexpr size_t kNode = 80;

  CountedStringSet() = default;
  explicit CountedStringSet(Held as) : held_(as) {}

  // False if the text is already in the set.
  bool insert(std::string text, const AccountPtr& whose = nullptr) {
    const size_t bytes = text.size() + kNode;
    if (!texts_.insert(std::move(text)).second) return false;
    held_.charge(whose);
    held_.add(bytes);
    return true;
  }
  bool erase(std::string_view text) {
    auto found = texts_.find(text);
    if (found == texts_.end()) return false;
    held_.set(held_.mine() - found->size() - kNode);
    texts_.erase(found);
    return true;
  }
  void clear() {
    texts_.clear();
    held_.set(0);
  }
  bool contains(std::string_view text) const { return texts_.find(text) != texts_.end(); }
  bool empty() const { return texts_.empty(); }
  size_t size() const { return texts_.size(); }
  auto begin() const { return texts_.begin(); }
  auto end() const { return texts_.end(); }

 private:
  std::set<std::string, std::less<>> texts_;
  MemoryCharge held_{Held::listens};
};

}  // namespace lineward

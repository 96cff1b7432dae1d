// Text of a peer that outlives the message it came in: of a session, a group of callers, a store. It counts
// in the sum of what is held, and for whom it is kept (base/account.h). What lives long keeps such text in
// these containers or not at all (tests/lint/kept.sh).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/held_bytes.h"

namespace lineward {

class KeptText {
 public:
  explicit KeptText(Held as) : held_(as) {}
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
  HeldBytes held_;
};

// A set of texts, each of them there once.
class KeptTexts {
 public:
  // What a node of the set costs beside its text.
  static constexpr size_t kNode = 80;

  KeptTexts() = default;
  explicit KeptTexts(Held as) : held_(as) {}

  // False when it was there.
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
  HeldBytes held_{Held::listens};
};

}  // namespace lineward

// Reference-counted texts with several users (URIs with many listeners). Each text is stored and counted once
// while it is in use. Sets and maps of such texts count their own nodes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/base/counted_string.h"

namespace lineward {

using SharedText = std::shared_ptr<const CountedString>;

inline SharedText shared_text(std::string text, const AccountPtr& whose = nullptr, Held as = Held::listens) {
  auto made = std::make_shared<CountedString>(as);
  made->keep(std::move(text), whose);
  return made;
}

// Compares by text, not by address.
struct ByText {
  using is_transparent = void;
  static std::string_view text(const SharedText& one) { return one->text(); }
  static std::string_view text(std::string_view one) { return one; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return text(a) < text(b);
  }
};

// The bytes counted for a node of such a set or map.
inline constexpr size_t kRefNode = 80;

class CountedSet {
 public:
  CountedSet() = default;
  ~CountedSet() = default;
  CountedSet(const CountedSet& other) : refs_(other.refs_) { note(); }
  CountedSet(CountedSet&& other) noexcept : refs_(std::move(other.refs_)) {
    other.refs_.clear();
    other.note();
    note();
  }
  CountedSet& operator=(CountedSet other) noexcept {
    refs_.swap(other.refs_);
    note();
    other.note();
    return *this;
  }

  bool insert(SharedText text) {
    const bool is_new = refs_.insert(std::move(text)).second;
    note();
    return is_new;
  }
  bool erase(std::string_view text) {
    auto found = refs_.find(text);
    if (found == refs_.end()) return false;
    refs_.erase(found);
    note();
    return true;
  }
  void clear() {
    refs_.clear();
    note();
  }
  // The stored text equal to `text`; null if there is none.
  SharedText find(std::string_view text) const {
    auto found = refs_.find(text);
    return found == refs_.end() ? nullptr : *found;
  }
  bool contains(std::string_view text) const { return refs_.find(text) != refs_.end(); }
  bool empty() const { return refs_.empty(); }
  size_t size() const { return refs_.size(); }
  auto begin() const { return refs_.begin(); }
  auto end() const { return refs_.end(); }
  bool operator==(const CountedSet& other) const {
    if (size() != other.size()) return false;
    for (auto a = begin(), b = other.begin(); a != end(); ++a, ++b) {
      if ((*a)->text() != (*b)->text()) return false;
    }
    return true;
  }

 private:
  void note() { held_.set(refs_.size() * kRefNode); }
  std::set<SharedText, ByText> refs_;
  MemoryCharge held_{Held::listens};
};

template <class Value>
class CountedMap {
  using Map = std::map<SharedText, Value, ByText>;

 public:
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;

  Value& operator[](const SharedText& text) {
    Value& value = map_[text];
    note();
    return value;
  }
  iterator find(std::string_view text) { return map_.find(text); }
  const_iterator find(std::string_view text) const { return map_.find(text); }
  void erase(iterator at) {
    map_.erase(at);
    note();
  }
  void erase(std::string_view text) {
    if (auto found = find(text); found != end()) erase(found);
  }
  void clear() {
    map_.clear();
    note();
  }
  bool contains(std::string_view text) const { return find(text) != end(); }
  bool empty() const { return map_.empty(); }
  size_t size() const { return map_.size(); }
  iterator begin() { return map_.begin(); }
  iterator end() { return map_.end(); }
  const_iterator begin() const { return map_.begin(); }
  const_iterator end() const { return map_.end(); }

 private:
  void note() { held_.set(map_.size() * (kRefNode + sizeof(Value))); }
  Map map_;
  MemoryCharge held_{Held::listens};
};

}  // namespace lineward

// HTTP header fields as views into the head they came in. Valid as long as that head is.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lineward::http {

struct Header {
  std::string_view name;
  std::string_view value;  // without leading and trailing white space
};

// ASCII only and free of the locale: header names and list tokens are ASCII by definition. Nearly all pairs
// differ in length, and are told apart without a call.
bool same_letters(const char* a, const char* b, size_t size);
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a.data(), b.data(), a.size());
}
// Without SP and HTAB at both ends.
inline std::string_view trim_white_space(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

class HeaderList {
 public:
  void add(std::string_view name, std::string_view value) {
    if (fields_.size() < kQuick) {
      lengths_[fields_.size()] = static_cast<uint8_t>(name.size() < 255 ? name.size() : 255);
    }
    fields_.push_back({name, value});
  }
  void clear() {
    fields_.clear();
    lengths_.fill(0);
  }
  // The first field of that name (case-insensitive), or null.
  const Header* find(std::string_view name) const;
  size_t count(std::string_view name) const;
  // The value of the first field of that name, or an empty view.
  std::string_view get(std::string_view name) const;
  const std::vector<Header>& all() const { return fields_; }

 private:
  // The lengths of the first names: one look at all of them finds the few that can be meant.
  static constexpr size_t kQuick = 16;
  template <class F>
  void for_each(std::string_view name, F&& visit) const;  // until visit(field) is false
  std::vector<Header> fields_;
  std::array<uint8_t, kQuick> lengths_{};
};

// True when a comma-separated list value (Accept, Connection, …) has this token; parameters after ';' are
// cut.
bool list_has_token(std::string_view list, std::string_view token);

}  // namespace lineward::http

// HTTP header fields as views into their head. Valid as long as that head.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::http {

struct Header {
  std::string_view name;
  std::string_view value;  // without leading and trailing white space
};

// ASCII only and independent of the locale: header names and list tokens are ASCII by definition. Nearly all
// pairs differ in length, and are compared without a call.
bool same_letters(const char* a, const char* b, size_t size);
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a.data(), b.data(), a.size());
}
std::string lower_case(std::string_view text);
// Without SP and HTAB at both ends.
inline std::string_view trim_white_space(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// Replaces tabs with spaces around the values of a head that a gate has passed. Both are equivalent (RFC 9110
// 5.6.3), but llhttp does not accept tabs everywhere.
void spaces_for_tabs(std::string& head);

// A field name to look up. Names that every message is searched for have numbers, assigned to literals at
// compile time.
class FieldName {
 public:
  template <size_t N>
  consteval FieldName(const char (&literal)[N]) : FieldName(std::string_view(literal, N - 1)) {}
  constexpr FieldName(std::string_view name) : text(name), number(number_of(name)) {}

  static constexpr std::array<std::string_view, 16> kKnown = {"Host",
                                                              "Origin",
                                                              "Accept",
                                                              "Content-Type",
                                                              "Content-Length",
                                                              "Mcp-Session-Id",
                                                              "Content-Encoding",
                                                              "Transfer-Encoding",
                                                              "Connection",
                                                              "Expect",
                                                              "Keep-Alive",
                                                              "Last-Event-ID",
                                                              "Authorization",
                                                              "MCP-Protocol-Version",
                                                              "Mcp-Method",
                                                              "Mcp-Name"};
  std::string_view text;
  size_t number;  // in kKnown, or its size

 private:
  static constexpr char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
  static constexpr size_t number_of(std::string_view name) {
    for (size_t i = 0; i < kKnown.size(); ++i) {
      if (kKnown[i].size() != name.size()) continue;
      size_t at = 0;
      while (at < name.size() && small(kKnown[i][at]) == small(name[at]))
        ++at;
      if (at == name.size()) return i;
    }
    return kKnown.size();
  }
};

class HeaderList {
 public:
  void add(std::string_view name, std::string_view value);
  // Replaces the first field's value; adds a field if there is none.
  void set(std::string_view name, std::string_view value);
  void clear() {
    fields_.clear();
    known_.fill({});
  }
  // The first field of that name (case-insensitive), or null.
  const Header* find(FieldName name) const {
    if (name.number == known_.size()) return search(name.text);
    const Known& known = known_[name.number];
    return known.count == 0 ? nullptr : &fields_[known.first - 1];
  }
  size_t count(FieldName name) const {
    return name.number == known_.size() ? tally(name.text) : known_[name.number].count;
  }
  // The only field of that name; null if there are none or several.
  const Header* only(FieldName name) const { return count(name) == 1 ? find(name) : nullptr; }
  // The value of the first field of that name, or an empty view.
  std::string_view get(FieldName name) const {
    const Header* field = find(name);
    return field != nullptr ? field->value : std::string_view();
  }
  const std::vector<Header>& all() const { return fields_; }

 private:
  // For names without a number.
  const Header* search(std::string_view name) const;
  size_t tally(std::string_view name) const;

  struct Known {
    uint32_t first = 0;  // in fields_, from 1
    uint32_t count = 0;
  };
  std::vector<Header> fields_;
  std::array<Known, FieldName::kKnown.size()> known_{};
};

// True when a comma-separated list value (Accept, Connection, …) has this token; parameters after ';' are
// ignored.
bool list_has_token(std::string_view list, std::string_view token);
// Does any Connection field declare this header hop-by-hop (RFC 9110 7.6.1)?
bool named_by_connection(const HeaderList& headers, std::string_view name);

}  // namespace lineward::http

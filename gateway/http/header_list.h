// HTTP header fields as views into the head they came in. Valid as long as that head is.
#pragma once

#include <string_view>
#include <vector>

namespace lineward::http {

struct Header {
  std::string_view name;
  std::string_view value;  // without leading and trailing white space
};

bool equals_ignoring_case(std::string_view a, std::string_view b);
// Without SP and HTAB at both ends.
std::string_view trim_white_space(std::string_view text);

class HeaderList {
 public:
  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }
  void clear() { fields_.clear(); }
  // The first field of that name (case-insensitive), or null.
  const Header* find(std::string_view name) const;
  size_t count(std::string_view name) const;
  // The value of the first field of that name, or an empty view.
  std::string_view get(std::string_view name) const;
  const std::vector<Header>& all() const { return fields_; }

 private:
  std::vector<Header> fields_;
};

// True when a comma-separated list value (Accept, Connection, …) has this token; parameters after ';' are
// cut.
bool list_has_token(std::string_view list, std::string_view token);

}  // namespace lineward::http

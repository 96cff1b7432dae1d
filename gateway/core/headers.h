// Header fields on their way through the gateway, in the order in which they came.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/header_list.h"

namespace lineward::core {

// Names and values were checked where they came in: a token, and no control characters.
using HeaderFields = std::vector<std::pair<std::string, std::string>>;

// Says what an argument of the call says (2026-07-28, "Custom Headers").
inline bool repeats_argument(std::string_view name) {
  constexpr std::string_view kParam = "Mcp-Param-";
  return !name.empty() && (name.front() == 'M' || name.front() == 'm') &&
         http::equals_ignoring_case(name.substr(0, kParam.size()), kParam);
}
// Says what the message says: it goes wherever that goes.
inline bool repeats_message(std::string_view name) {
  return repeats_argument(name) || http::equals_ignoring_case(name, "Mcp-Name");
}

// The same, for many to hold: a copy costs nothing, and nobody can change what others see.
class SharedFields {
 public:
  SharedFields() = default;
  SharedFields(HeaderFields fields)
      : fields_(fields.empty() ? nullptr : std::make_shared<const HeaderFields>(std::move(fields))) {}
  SharedFields(std::initializer_list<HeaderFields::value_type> fields) : SharedFields(HeaderFields(fields)) {}
  operator const HeaderFields&() const {
    static const HeaderFields kNone;
    return fields_ ? *fields_ : kNone;
  }
  HeaderFields::const_iterator begin() const { return all().begin(); }
  HeaderFields::const_iterator end() const { return all().end(); }

 private:
  const HeaderFields& all() const { return *this; }
  std::shared_ptr<const HeaderFields> fields_;  // null: there are none
};

}  // namespace lineward::core

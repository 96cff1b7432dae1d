// Header fields that are forwarded through the gateway, in the order received.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/http/header_list.h"

namespace lineward::core {

// Names and values were validated on receipt: names are tokens, values have no control characters.
using HeaderFields = std::vector<std::pair<std::string, std::string>>;

// The header repeats an argument of the call (2026-07-28, "Custom Headers").
inline bool repeats_argument(std::string_view name) {
  constexpr std::string_view kParam = "Mcp-Param-";
  return !name.empty() && (name.front() == 'M' || name.front() == 'm') &&
         http::equals_ignoring_case(name.substr(0, kParam.size()), kParam);
}
// The header repeats a part of the message and is forwarded together with it.
inline bool repeats_message(std::string_view name) {
  return repeats_argument(name) || http::equals_ignoring_case(name, "Mcp-Name");
}

// Shared, immutable header fields: a copy costs nothing.
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
  std::shared_ptr<const HeaderFields> fields_;  // null: empty
};

}  // namespace lineward::core

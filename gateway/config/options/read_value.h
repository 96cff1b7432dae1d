// Converts text to a typed value by its option, with an error if it does not fit. User text is quoted in
// messages only through clip().
#pragma once

#include <string>
#include <string_view>

#include "config/options/options.h"
#include "config/value.h"
#include "foundation/base/result.h"

namespace lineward::config {

// Why a text does not fit an option.
struct Misfit {
  std::string code;
  std::string message;
  std::string hint;
  std::string note;
  bool shows_text = true;  // the message quotes the text, which may come from a variable
};

// Converts a scalar by its option, from the raw text: `no`, `010` and `1:30` are text unless the option has
// another type.
Result<Value, Misfit> read_value(const Option& option, std::string_view text);
// Succeeds if the value is in range and passes the option's own check.
Result<Done, Misfit> check_value(const Option& option, const Value& value, std::string_view text);

// A bound of an option's range, in file syntax.
std::string spell_bound(Kind kind, uint64_t bound);

// The reason why headers cannot be sent, or empty. Contains no name or value: a value may be in a name's
// place.
std::string_view headers_fault(const Value& headers);

// User text for a message: shortened, and safe for a terminal (foundation/log/sanitize.h).
std::string clip(std::string_view text);

}  // namespace lineward::config

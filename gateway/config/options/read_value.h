// Typing a text by the option that it is for, and what is said where it does not fit. Texts of users stand in
// messages by clip() alone.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/options/options.h"
#include "config/value.h"

namespace lineward::config {

// Why a text does not fit an option.
struct Misfit {
  std::string code;
  std::string message;
  std::string hint;
  std::string note;
  bool shows_text = true;  // the message repeats some of it, which may have come from a variable
};

// Types a scalar by its option, from the raw text: `no`, `010` and `1:30` are text unless the option says
// otherwise.
Result<Value, Misfit> read_value(const Option& option, std::string_view text);
// Empty when the value is in range and passes the option's own check.
Result<Done, Misfit> check_value(const Option& option, const Value& value, std::string_view text);

// One end of an option's range, as one would write it.
std::string spell_bound(Kind kind, uint64_t bound);

// Why a map of headers cannot be sent, or empty. Says no name and no value: a value may stand in a name's
// place.
std::string_view headers_fault(const Value& headers);

// A text of a user's as it may stand in a message: short, and printable on a terminal (log/printable.h).
std::string clip(std::string_view text);

}  // namespace lineward::config

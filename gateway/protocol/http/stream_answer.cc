#include "protocol/http/stream_answer.h"

#include <algorithm>

#include "protocol/http/char_class.h"
#include "protocol/http/stream_fields.h"

namespace lineward::http {

void StreamAnswer::add(std::string_view name, std::string_view value, size_t most) {
  size_ += name.size() + value.size() + kFieldCost;
  if (fields_.size() > most) return;  // cut: longer than it may be, by what is kept of it
  if (!is_one_line(value)) {
    fault_ = "a field value has a line break";
  } else if (name == ":status") {
    if (!status_.empty()) fault_ = "a pseudo-header field is given twice";
    status_ = value;
  } else if (name.empty() || !is_token(name)) {
    fault_ = "a field name is no token";
  } else if (is_of_connections(name)) {
    fault_ = "a field of HTTP/1 connections is given";
  } else {
    fields_.append(name).append(": ").append(value).append("\r\n");
  }
}

Result<std::string> StreamAnswer::text() const {
  if (!fault_.empty()) return fail(fault_);
  if (status_.size() != 3 || !std::all_of(status_.begin(), status_.end(), is_digit))
    return fail("its status is no number of three digits");
  std::string out;
  out.reserve(status_.size() + fields_.size() + 16);
  out.append("HTTP/1.1 ").append(status_).append(" \r\n").append(fields_).append("\r\n");
  return out;
}

}  // namespace lineward::http

#include "protocol/http/head_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "protocol/http/char_class.h"
#include "protocol/http/head_gate.h"

namespace lineward::http {

void HeadScan::reset() {
  at_ = 0;
  line_start_ = 0;
  after_cr_ = false;
}

HeadScan::Found HeadScan::refuse(int status, std::string text) {
  fault_ = {.text = std::move(text), .code = status};
  return Found::fault;
}

HeadScan::Found HeadScan::check_first_line(std::string_view line) {
  Status<> checked = check_request_line(line, limits_);
  if (checked) return Found::more;
  fault_ = std::move(checked.error());
  return Found::fault;
}

HeadScan::Found HeadScan::scan(std::string_view bytes) {
  // The gate refuses longer lines, so the prefix is enough to find the fault.
  const size_t longest_first_line = kMaxMethodBytes + 1 + limits_.target_bytes + 1 + 8;
  for (; at_ < bytes.size(); ++at_) {
    // Inside a line only a control character or a limit matters.
    if (!after_cr_ && at_ != line_start_) {
      const size_t limit =
          line_start_ == 0 ? std::min(longest_first_line, limits_.head_bytes) : limits_.head_bytes;
      const size_t end = std::min(bytes.size(), limit);
      if (at_ < end) {
        at_ = static_cast<size_t>(find_control(bytes.data() + at_, bytes.data() + end) - bytes.data());
      }
      if (at_ == bytes.size()) break;
    }
    if (at_ >= limits_.head_bytes) {
      return refuse(431,
                    fmt::format("The request head must not have more than {} bytes.", limits_.head_bytes));
    }
    const char c = bytes[at_];
    if (after_cr_) {
      if (c != '\n') return refuse(400, "Every line must end with CR and LF.");
      after_cr_ = false;
      std::string_view line = bytes.substr(line_start_, at_ - 1 - line_start_);
      if (line_start_ == 0 && check_first_line(line) == Found::fault) return Found::fault;
      line_start_ = at_ + 1;
      if (!line.empty()) continue;
      ++at_;
      return Found::end;
    }
    if (at_ == 0 && !is_tchar(c)) return refuse(400, "A request must start with a method name.");
    if (c == '\r') {
      after_cr_ = true;
      continue;
    }
    if (c == '\n') return refuse(400, "Every line must end with CR and LF.");
    if (is_control(c) && c != '\t') return refuse(400, "The request head must not hold control characters.");
    if (at_ == line_start_ && (c == ' ' || c == '\t')) {
      return refuse(400, "Folded header fields are not accepted.");
    }
    if (line_start_ == 0 && at_ >= longest_first_line) {
      if (check_first_line(bytes.substr(0, at_ + 1)) == Found::fault) return Found::fault;
      return refuse(400, "The request line is too long.");
    }
  }
  return Found::more;
}

}  // namespace lineward::http

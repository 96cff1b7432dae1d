#include "protocol/http/response_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "protocol/http/char_class.h"

namespace lineward::http {

namespace {

Status<Error> check_status_line(std::string_view line) {
  bool version = line.substr(0, 9) == "HTTP/1.1 " || line.substr(0, 9) == "HTTP/1.0 ";
  if (!version) return fail("its first line is no HTTP/1 status line");
  std::string_view status = line.substr(9, 3);
  bool number = status.size() == 3 && std::all_of(status.begin(), status.end(), is_digit) &&
                status[0] >= '1' && status[0] <= '5';
  if (!number || (line.size() > 12 && line[12] != ' '))
    return fail("its status is no number of three digits");
  for (char c : line.substr(12)) {
    if (is_control(c) && c != '\t') return fail("its status line holds control characters");
  }
  return Done{};
}

struct Seen {
  size_t fields = 0;
  size_t lengths = 0;
  std::string_view coding;
  bool coded = false;
};

Status<Error> check_field(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') return fail("it has a folded header field");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return fail("it has a header line without a colon");
  std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return fail("it has a header name that is no token");
  std::string_view value = trim_white_space(line.substr(colon + 1));
  for (char c : value) {
    if (is_control(c) && c != '\t') return fail("it has control characters in a header value");
  }
  if (equals_ignoring_case(name, "Content-Length")) {
    if (++seen.lengths > 1) return fail("it has two lengths");
    bool number = !value.empty() && value.size() <= kMaxLengthDigits &&
                  std::all_of(value.begin(), value.end(), is_digit);
    if (!number) return fail("its Content-Length is no plain number");
  } else if (equals_ignoring_case(name, "Transfer-Encoding")) {
    if (seen.coded) return fail("it has two transfer codings");
    seen.coded = true;
    seen.coding = value;
  }
  return Done{};
}

}  // namespace

Status<Error> check_response_head(std::string_view block, const ResponseLimits& limits) {
  Seen seen;
  bool is_http_1_0 = false;
  std::string_view rest = block;
  for (bool first = true;; first = false) {
    size_t line_feed = rest.find('\n');
    if (line_feed == std::string_view::npos) return fail("its head does not end");
    if (line_feed == 0 || rest[line_feed - 1] != '\r')
      return fail("it has a line that does not end with CR and LF");
    std::string_view line = rest.substr(0, line_feed - 1);
    rest.remove_prefix(line_feed + 1);
    if (first) {
      Status<Error> checked = check_status_line(line);
      if (!checked) return checked;
      is_http_1_0 = line[7] == '0';
      continue;
    }
    if (line.empty()) break;
    if (++seen.fields > limits.fields)
      return fail(fmt::format("it has more than {} header fields", limits.fields));
    Status<Error> checked = check_field(line, seen);
    if (!checked) return checked;
  }
  if (!rest.empty()) return fail("something follows its head");
  if (!seen.coded) return Done{};
  if (seen.lengths > 0) return fail("it has a length and a transfer coding");
  if (is_http_1_0) return fail("it has a transfer coding in HTTP/1.0");
  if (!equals_ignoring_case(seen.coding, "chunked")) return fail("its transfer coding is not chunked");
  return Done{};
}

}  // namespace lineward::http

// The scanner on any bytes: stays in range, walking agrees with skipping, strings survive decoding and
// quoting.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/json/json_scan.h"

using namespace lineward::json;

namespace {

// Walks by enter and next; the input is already known to be no deeper than the limit.
bool walk(Cursor& cursor, std::string_view text) {
  if (cursor.at_object()) {
    if (!cursor.enter_object()) return false;
    Span key;
    bool escaped = false;
    while (cursor.next_key(key, escaped)) {
      LW_CHECK(key.begin <= key.end && key.end < text.size() && text[key.end] == '"');
      LW_CHECK(escaped == (key.in(text).find('\\') != std::string_view::npos));
      LW_CHECK(key_equals(key.in(text), escaped, unescape_exact(key.in(text))) ||
               unescape(key.in(text)) != unescape_exact(key.in(text)));
      if (!walk(cursor, text)) return false;
    }
    return cursor.done();
  }
  if (cursor.at_array()) {
    if (!cursor.enter_array()) return false;
    while (cursor.next_element()) {
      if (!walk(cursor, text)) return false;
    }
    return cursor.done();
  }
  Span value;
  if (!cursor.skip(value)) return false;
  LW_CHECK(value.begin < value.end && value.end <= text.size());
  const std::string_view raw = value.in(text);
  LW_CHECK(validate(raw) == Fault::none);
  if (raw.front() == '"') {
    const std::string decoded = unescape(raw.substr(1, raw.size() - 2));
    const std::string quoted = quote(decoded);
    LW_CHECK(validate(quoted) == Fault::none);
    LW_CHECK(unescape(std::string_view(quoted).substr(1, quoted.size() - 2)) == decoded);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Fault fault = validate(text);
  Cursor cursor(text);
  const bool walked = walk(cursor, text) && cursor.finish();
  LW_CHECK(walked == (fault == Fault::none));
  LW_CHECK(cursor.fault() == fault);
  LW_CHECK(cursor.offset() <= size);

  LW_CHECK(validate(quote(text)) == Fault::none);
  (void)unescape(text);
  (void)key_equals(text, true, "method");
  return 0;
}

// URIs in any spelling before a rule: the normal form is normal, other spellings of one URI have the same. A
// rule denies a URI in each of them. The first byte chooses where a spelling is changed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "plugins/tools/uri_forms.h"
#include "plugins/tools/uri_rule.h"

using namespace lineward::plugins;

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string encoded(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'%', kDigits[byte >> 4], kDigits[byte & 15]};
}

// The letter of the path that comes next after `from`, encoded; empty when there is none.
std::string one_encoded(std::string_view uri, size_t path, size_t from) {
  for (size_t i = path + from % (uri.size() - path + 1); i < uri.size(); ++i) {
    if (uri[i] == '?' || uri[i] == '#') break;
    const bool in_escape = (i >= 1 && uri[i - 1] == '%') || (i >= 2 && uri[i - 2] == '%');
    if (is_letter(uri[i]) && !in_escape)
      return std::string(uri.substr(0, i)) + encoded(uri[i]) + std::string(uri.substr(i + 1));
  }
  return {};
}

std::string upper_scheme(std::string_view uri, size_t colon) {
  std::string out(uri);
  for (size_t i = 0; i < colon; ++i) {
    if (out[i] >= 'a' && out[i] <= 'z') out[i] = static_cast<char>(out[i] - 32);
  }
  return out;
}

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

bool is_plain(std::string_view uri) {
  return uri.find_first_of("*?[]{}!\\") == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t choice = data[0];
  const std::string uri(reinterpret_cast<const char*>(data + 1), size - 1);
  (void)normal_uri_glob(uri);
  const UriForms forms = uri_forms(uri);
  if (!forms.fault.empty()) {
    LW_CHECK(!UriRule({}, {"x:never"}).judge(uri).allowed);
    return 0;
  }
  for (char c : forms.normal)
    LW_CHECK(static_cast<unsigned char>(c) > 0x20 && c != 0x7f);
  LW_CHECK(forms.normal.substr(0, forms.normal.find_first_of("?#")).find("/../") == std::string::npos);

  const UriForms again = uri_forms(forms.normal);
  LW_CHECK(again.fault.empty());
  LW_CHECK(again.normal == forms.normal);

  const size_t colon = uri.find(':');
  if (colon == std::string::npos || uri.substr(colon, 3) != "://" || !is_scheme(uri.substr(0, colon)))
    return 0;
  LW_CHECK(uri_forms(upper_scheme(uri, colon)).normal == forms.normal);
  const size_t path = uri.find('/', colon + 3);
  std::string other = path == std::string::npos ? std::string() : one_encoded(uri, path, choice);
  if (other.empty()) return 0;
  const UriForms others = uri_forms(other);
  LW_CHECK(others.fault.empty());
  LW_CHECK(others.normal == forms.normal);
  if (!is_plain(uri)) return 0;
  const UriRule rule({}, {uri});
  LW_CHECK(!rule.judge(uri).allowed);
  LW_CHECK(!rule.judge(other).allowed);
  LW_CHECK(!rule.judge(forms.normal).allowed);
  return 0;
}

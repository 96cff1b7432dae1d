#include "proxy/upstream/http_client/cookie_jar.h"

#include <algorithm>
#include <charconv>

namespace lineward::upstream {
namespace {

constexpr size_t kMaxCookies = 16;
constexpr size_t kMaxJarBytes = 4096;  // of all names and values

bool is_cookie_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
  });
}

// Takes the text up to the next ';' from the front.
std::string_view next_cookie_part(std::string_view& rest) {
  const std::string_view part = rest.substr(0, rest.find(';'));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return http::trim_white_space(part);
}

struct CookieAttributes {
  bool over = false;       // it deletes the cookie
  bool elsewhere = false;  // it does not apply to these requests
};

void read_attribute(std::string_view attribute, const HttpUrl& url, CookieAttributes& out) {
  const size_t equals = attribute.find('=');
  const std::string_view name = http::trim_white_space(attribute.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos
                                     ? std::string_view()
                                     : http::trim_white_space(attribute.substr(equals + 1));
  if (http::equals_ignoring_case(name, "Max-Age")) {
    int64_t seconds = 1;
    std::from_chars(value.data(), value.data() + value.size(), seconds);
    out.over = seconds <= 0;
  } else if (http::equals_ignoring_case(name, "Expires")) {
    // The date that servers use to delete cookies.
    out.over = out.over || value.find("1970") != std::string_view::npos;
  } else if (http::equals_ignoring_case(name, "Path") && !value.empty() && value.front() == '/') {
    const std::string_view target = std::string_view(url.target).substr(0, url.target.find('?'));
    const bool within = target.substr(0, value.size()) == value &&
                        (value.back() == '/' || target.size() == value.size() || target[value.size()] == '/');
    out.elsewhere = out.elsewhere || !within;
  } else if (http::equals_ignoring_case(name, "Secure")) {
    out.elsewhere = out.elsewhere || !url.tls;
  }
}

}  // namespace

void CookieJar::put(std::string_view name, std::string_view value) {
  std::erase_if(cookies_, [&](const Cookie& cookie) { return cookie.name == name; });
  size_t bytes = name.size() + value.size();
  for (const Cookie& cookie : cookies_)
    bytes += cookie.name.size() + cookie.value.size();
  if (cookies_.size() >= kMaxCookies || bytes > kMaxJarBytes) return;
  cookies_.push_back({std::string(name), std::string(value)});
  held_.set(bytes);
}

void CookieJar::take(const http::HeaderList& response, const HttpUrl& url) {
  for (const auto& field : response.all()) {
    if (!http::equals_ignoring_case(field.name, "Set-Cookie")) continue;
    std::string_view rest = field.value;
    const std::string_view pair = next_cookie_part(rest);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (!is_cookie_text(name) || !is_cookie_text(value)) continue;
    CookieAttributes attributes;
    while (!rest.empty())
      read_attribute(next_cookie_part(rest), url, attributes);
    if (attributes.elsewhere) continue;
    if (attributes.over) {
      std::erase_if(cookies_, [&](const Cookie& cookie) { return cookie.name == name; });
    } else {
      put(name, value);
    }
  }
}

std::string CookieJar::header() const {
  std::string out;
  for (const Cookie& cookie : cookies_) {
    if (!out.empty()) out += "; ";
    out.append(cookie.name).append("=").append(cookie.value);
  }
  return out;
}

}  // namespace lineward::upstream

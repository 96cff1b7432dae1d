#include "plugins/rate_limit/redis_url.h"

#include <algorithm>
#include <charconv>

namespace lineward::plugins {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

bool decode(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned code = 0;
    if (i + 2 >= text.size()) return false;
    auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
    if (error != std::errc() || end != text.data() + i + 3) return false;
    out += static_cast<char>(code);
    i += 2;
  }
  return true;
}

// "[user]:password@" before the rest.
bool take_credentials(std::string_view& rest, std::string_view until, RedisUrl& out) {
  size_t end = std::min(rest.find_first_of(until), rest.size());
  size_t at = rest.substr(0, end).rfind('@');
  if (at == std::string_view::npos) return true;
  std::string_view both = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  size_t colon = both.find(':');
  if (colon == std::string_view::npos) return false;
  return decode(both.substr(0, colon), out.user) && decode(both.substr(colon + 1), out.password);
}

}  // namespace

Result<RedisUrl> parse_redis_url(std::string_view text) {
  auto wrong = [] {
    return fail(
        "write redis://[:password@]host[:port][/db], rediss:// for TLS, or unix:/path/to.sock[?db=N]");
  };
  RedisUrl out;
  if (starts(text, "unix:")) {
    std::string_view rest = text.substr(5);
    if (starts(rest, "//")) {
      rest.remove_prefix(2);
      if (!take_credentials(rest, "/", out)) return wrong();
    }
    size_t query = rest.find('?');
    out.unix_path = rest.substr(0, query);
    bool plain = !out.unix_path.empty() && out.unix_path.front() == '/' && out.unix_path.size() < 108;
    if (!plain) return wrong();
    if (query == std::string_view::npos) return out;
    rest.remove_prefix(query + 1);
    if (!starts(rest, "db=") || !read_number(rest.substr(3), out.db)) return wrong();
    return out;
  }
  out.tls = starts(text, "rediss://");
  if (!out.tls && !starts(text, "redis://")) return wrong();
  std::string_view rest = text.substr(out.tls ? 9 : 8);
  if (!take_credentials(rest, "/", out)) return wrong();
  size_t slash = rest.find('/');
  std::string_view where = rest.substr(0, slash);
  if (slash != std::string_view::npos && slash + 1 < rest.size() &&
      !read_number(rest.substr(slash + 1), out.db))
    return wrong();
  std::string_view port;
  if (starts(where, "[")) {
    size_t close = where.find(']');
    if (close == std::string_view::npos) return wrong();
    out.host = where.substr(1, close - 1);
    port = where.substr(close + 1);
  } else {
    size_t colon = where.find(':');
    out.host = where.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : where.substr(colon);
  }
  bool fine = !out.host.empty() && out.host.find_first_of(" @:?#") == std::string::npos;
  if (starts(where, "[")) fine = !out.host.empty();
  if (!port.empty())
    fine = fine && port.front() == ':' && read_number(port.substr(1), out.port) && out.port > 0;
  if (!fine) return wrong();
  return out;
}

}  // namespace lineward::plugins

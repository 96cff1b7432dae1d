#include "plugins/tools/uri_forms.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace lineward::plugins {
namespace {

struct Special {
  std::string_view scheme, port;
};
// The special schemes of the URL standard, with their default ports.
constexpr std::array<Special, 6> kSpecial{
    {{"http", "80"}, {"https", "443"}, {"ws", "80"}, {"wss", "443"}, {"ftp", "21"}, {"file", ""}}};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_alpha(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_unreserved(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7F;
}
// Characters invalid in a URI (RFC 3986): normalisation encodes them.
bool is_out_of_place(char c) {
  return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F ||
         std::string_view("\"%<>\\^`{|}").find(c) != std::string_view::npos;
}
bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// The byte of a leading %XX.
std::optional<char> encoded(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  int high = hex_digit(text[1]), low = hex_digit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

std::string decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto byte = encoded(text);
    out += byte.value_or(text[0]);
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

// Decodes unreserved characters, encodes invalid ones, with digits in upper case (RFC 3986, section 6.2.2). A
// stray "%" is encoded too: it must not form an escape when a neighbour is decoded.
std::string normal_encoding(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto byte = encoded(text);
    char c = byte.value_or(text[0]);
    if (byte ? !is_unreserved(c) : is_out_of_place(c)) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
    text.remove_prefix(byte ? 3 : 1);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  size_t i = 0;
  auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  while (i < text.size()) {
    unsigned char c = at(i);
    size_t more = c < 0x80                ? 0
                  : c >= 0xC2 && c < 0xE0 ? 1
                  : c >= 0xE0 && c < 0xF0 ? 2
                  : c >= 0xF0 && c < 0xF5 ? 3
                                          : 4;
    if (more == 4 || i + more >= text.size() + (more == 0 ? 1 : 0)) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return false;
    }
    bool overlong = (c == 0xE0 && at(i + 1) < 0xA0) || (c == 0xF0 && at(i + 1) < 0x90);
    bool beyond = (c == 0xED && at(i + 1) >= 0xA0) || (c == 0xF4 && at(i + 1) >= 0x90);
    if (overlong || beyond) return false;
    i += more + 1;
  }
  return true;
}

bool has_dot_segments(std::string_view path, bool backslash) {
  while (true) {
    size_t end = path.find_first_of(backslash ? "/\\" : "/");
    std::string_view segment = path.substr(0, end);
    if (segment == "." || segment == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

// The URL standard accepts 0x7f.1, 017700000001 and 2130706433 for 127.0.0.1 too. nullopt: it is a name.
std::optional<uint64_t> ipv4_part(std::string_view part) {
  unsigned base = 10;
  if (part.size() > 1 && part[0] == '0') {
    base = lower(part[1]) == 'x' ? 16 : 8;
    part.remove_prefix(base == 16 ? 2 : 1);
  } else if (part.empty()) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (char c : part) {
    int digit = hex_digit(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
    value = value * base + static_cast<unsigned>(digit);
    if (value > UINT32_MAX) return std::nullopt;
  }
  return value;
}

std::string normal_ipv4(const std::string& host) {
  std::array<uint64_t, 4> parts{};
  size_t count = 0;
  std::string_view rest = host;
  while (true) {
    size_t dot = rest.find('.');
    auto part = ipv4_part(rest.substr(0, dot));
    if (!part || count == parts.size()) return host;
    parts[count++] = *part;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  uint64_t address = parts[count - 1];
  if (address >= uint64_t{1} << (8 * (5 - count))) return host;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (parts[i] > 255) return host;
    address |= parts[i] << (24 - 8 * i);
  }
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                     address & 255);
}

struct Parts {
  std::string scheme;  // in lower case; empty: none
  const Special* special = nullptr;
  bool has_authority = false;
  std::string_view authority, path, query, fragment;  // query and fragment with their marks
};

Parts split(std::string_view uri, bool glob) {
  Parts parts;
  size_t colon = uri.find(':');
  bool scheme = colon != std::string_view::npos && colon > 0 && is_alpha(uri[0]) &&
                std::all_of(uri.begin(), uri.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
                  return is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
                });
  if (scheme) {
    parts.scheme = lowered(uri.substr(0, colon));
    uri.remove_prefix(colon + 1);
  }
  for (const Special& one : kSpecial) {
    if (one.scheme == parts.scheme) parts.special = &one;
  }
  size_t hash = uri.find('#');
  if (hash != std::string_view::npos) {
    parts.fragment = uri.substr(hash);
    uri = uri.substr(0, hash);
  }
  size_t query = glob ? std::string_view::npos : uri.find('?');
  if (query != std::string_view::npos) {
    parts.query = uri.substr(query);
    uri = uri.substr(0, query);
  }
  bool file = parts.scheme == "file";
  bool web = parts.special != nullptr && !file;
  if (uri.substr(0, 2) == "//" || web) {
    parts.has_authority = true;
    // Any number of slashes counts as two here.
    size_t skip = web ? std::min(uri.find_first_not_of('/'), uri.size()) : 2;
    uri.remove_prefix(skip);
    size_t end = std::min(uri.find('/'), uri.size());
    parts.authority = uri.substr(0, end);
    uri.remove_prefix(end);
  }
  parts.path = uri;
  return parts;
}

// user@host:port; the user includes its "@", the port not its colon. A file URI only has a host (followed by
// a colon in RFC 3986).
struct Authority {
  std::string_view user, host, port;
};

Authority split_authority(const Parts& parts) {
  Authority out;
  out.host = parts.authority;
  if (parts.scheme == "file") {
    if (!out.host.empty() && out.host.back() == ':') out.host.remove_suffix(1);
    return out;
  }
  size_t at = out.host.rfind('@');
  if (at != std::string_view::npos) {
    out.user = out.host.substr(0, at + 1);
    out.host.remove_prefix(at + 1);
  }
  const size_t bracket = out.host.rfind(']');
  const size_t colon = out.host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return out;
  out.port = out.host.substr(colon + 1);
  out.host = out.host.substr(0, colon);
  return out;
}

// [::1] and [0:0:0:0:0:0:0:1] are the same address, and a mapped IPv4 address is that IPv4 address:
// connections go to the same host. Empty: not an address.
std::string normal_ipv6(const std::string& bracketed) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string inner = bracketed.substr(1, bracketed.size() - 2);
  if (inet_pton(AF_INET6, inner.c_str(), &address) != 1) return {};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    const unsigned char* low = address.s6_addr + 12;
    return fmt::format("{}.{}.{}.{}", low[0], low[1], low[2], low[3]);
  }
  inet_ntop(AF_INET6, &address, text.data(), text.size());
  return "[" + std::string(text.data()) + "]";
}

bool is_bracketed(std::string_view host) {
  return host.size() >= 2 && host.front() == '[' && host.back() == ']';
}

// The reason why the URL standard would reject the host of a special scheme.
std::string_view fault_of_authority(const Parts& parts) {
  const Authority authority = split_authority(parts);
  const std::string host = decoded(authority.host);
  bool ascii =
      std::all_of(host.begin(), host.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) return "its host is not ASCII";
  if (is_bracketed(host)) {
    if (normal_ipv6(host).empty()) return "its host is no address";
  } else if (host.find_first_of(" #%/:<>?@[]^|") != std::string::npos) {
    return "its host holds what no host has";
  }
  const bool needs_host = parts.scheme != "file" || !host.empty();
  if (needs_host && host.find_first_not_of('.') == std::string::npos) return "it names no host";
  std::string_view port = authority.port;
  while (!port.empty() && port[0] == '0')
    port.remove_prefix(1);
  if (port.size() > 5 || !all_digits(port)) return "its port is no port";
  return {};
}

// A name and a password, separated by the first colon. Empty parts and their marks are dropped: `@h`, `:@h`
// and `h` are equal, and so are `u:@h` and `u@h`.
std::string normal_user(std::string_view user) {
  if (user.empty()) return {};
  user.remove_suffix(1);
  auto encode = [](std::string_view text) {
    std::string out;
    for (char c : normal_encoding(text))
      out += c == '@' ? "%40" : c == ':' ? "%3A" : std::string(1, c);
    return out;
  };
  const size_t colon = std::min(user.find(':'), user.size());
  std::string out = encode(user.substr(0, colon));
  if (colon + 1 < user.size()) out += ":" + encode(user.substr(colon + 1));
  return out.empty() ? out : out + "@";
}

// With its colon; empty for no port or the default port. 080 is 80.
std::string normal_port(std::string_view given, const Special* special) {
  std::string port = normal_encoding(given);
  if (all_digits(port)) {
    port.erase(0, std::min(port.find_first_not_of('0'), port.size() - (port.empty() ? 0 : 1)));
    if (port.empty() || (special != nullptr && port == special->port)) return {};
  }
  return ":" + port;
}

std::string normal_authority(const Parts& parts) {
  const Authority authority = split_authority(parts);
  std::string host =
      lowered(parts.special != nullptr ? decoded(authority.host) : normal_encoding(authority.host));
  if (is_bracketed(host)) {
    std::string address = normal_ipv6(host);
    if (!address.empty()) host = std::move(address);
  }
  if (parts.special != nullptr) {
    while (host.size() > 1 && host.back() == '.')
      host.pop_back();
    host = normal_ipv4(host);
  }
  if (parts.scheme == "file") return host == "localhost" || host == "127.0.0.1" ? "" : host;
  return normal_user(authority.user) + host + normal_port(authority.port, parts.special);
}

// The URL standard reads the drive in file:///C|/x as in file:///C:/x; the bar is encoded at this point.
void mend_drive(std::string& path) {
  constexpr std::string_view kBar = "%7C";
  if (path.size() >= 5 && is_alpha(path[1]) && path.compare(2, 3, kBar) == 0 &&
      (path.size() == 5 || path[5] == '/'))
    path.replace(2, kBar.size(), ":");
}

std::string put_together(const Parts& parts, std::string_view query, std::string_view fragment) {
  std::string out = parts.scheme.empty() ? "" : parts.scheme + ":";
  const bool file = parts.scheme == "file";
  if (parts.has_authority || file) out += "//" + normal_authority(parts);
  std::string path = normal_encoding(parts.path);
  if (parts.special != nullptr && (path.empty() || path[0] != '/')) path.insert(0, 1, '/');
  if (file) {  // file systems collapse slashes
    path.erase(std::unique(path.begin(), path.end(), [](char a, char b) { return a == '/' && b == '/'; }),
               path.end());
    mend_drive(path);
  }
  return out + path + normal_encoding(query) + normal_encoding(fragment);
}

std::string_view fault_of(std::string_view uri, const Parts& parts) {
  if (uri.empty()) return "it is empty";
  if (uri.front() == ' ' || uri.back() == ' ') return "it begins or ends with a blank";
  std::string plain = decoded(uri);
  if (std::any_of(plain.begin(), plain.end(),
                  [](char c) { return is_control(static_cast<unsigned char>(c)); }))
    return "it holds a control character";
  if (!is_utf8(plain)) return "it is not UTF-8";
  if (parts.scheme.empty() && plain.substr(0, plain.find_first_of("/?#")).find(':') != std::string::npos)
    return "what is before its colon is no scheme";
  const bool special = parts.special != nullptr;
  if (special && plain.find('\\') != std::string::npos) return "it holds a backslash";
  // A server that uses the rest of the URI as a path would also see dot segments in the host, and behind a
  // mark of a query or fragment. In a query of http such segments are common.
  std::string path = std::string(parts.path);
  if (!special || parts.scheme == "file") path.append(parts.query).append(parts.fragment);
  if (has_dot_segments(decoded(split_authority(parts).host), special) ||
      has_dot_segments(decoded(path), special))
    return "it holds dot segments";
  return special ? fault_of_authority(parts) : std::string_view();
}

void add_others(const Parts& parts, UriForms& forms) {
  const bool file = parts.scheme == "file";
  if (!parts.fragment.empty()) forms.others.push_back(put_together(parts, parts.query, {}));
  if (file && !parts.query.empty()) forms.others.push_back(put_together(parts, {}, {}));
  std::string plain = decoded(put_together(parts, file ? std::string_view() : parts.query, {}));
  if (plain != forms.normal) forms.others.push_back(std::move(plain));
}

}  // namespace

UriForms uri_forms(std::string_view uri) {
  UriForms forms;
  Parts parts = split(uri, false);
  forms.fault = fault_of(uri, parts);
  if (!forms.fault.empty()) return forms;
  forms.normal = put_together(parts, parts.query, parts.fragment);
  add_others(parts, forms);
  // The user does not change the resource.
  const size_t at = parts.scheme == "file" ? std::string_view::npos : parts.authority.rfind('@');
  if (at == std::string_view::npos) return forms;
  parts.authority.remove_prefix(at + 1);
  forms.others.push_back(put_together(parts, parts.query, parts.fragment));
  add_others(parts, forms);
  return forms;
}

std::string normal_uri_glob(std::string_view glob) {
  // A wildcard in the scheme or the host prevents normalisation of the text before it.
  Parts parts = split(glob, true);
  if (parts.scheme.empty()) return {};
  bool wild_host = parts.authority.find_first_of("*?") != std::string_view::npos;
  if (parts.special != nullptr && wild_host) {
    std::string rest(glob.substr(parts.scheme.size()));
    return parts.scheme + rest == glob ? std::string() : parts.scheme + rest;
  }
  std::string normal = put_together(parts, {}, parts.fragment);
  return normal == glob ? std::string() : normal;
}

}  // namespace lineward::plugins

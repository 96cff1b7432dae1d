#include "proxy/upstream/http_client/http_proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "protocol/http/char_class.h"
#include "protocol/http/header_list.h"
#include "protocol/http/percent.h"
#include "proxy/upstream/http_client/basic_credentials.h"

namespace lineward::upstream {
namespace {

// An address as 16 bytes, IPv4 within ::ffff:0:0/96.
using Ip = std::array<unsigned char, 16>;

std::optional<Ip> parse_ip(std::string_view text) {
  std::string copy(text);
  Ip ip{};
  if (inet_pton(AF_INET6, copy.c_str(), ip.data()) == 1) return ip;
  in_addr v4{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) != 1) return std::nullopt;
  ip[10] = ip[11] = 0xff;
  std::memcpy(ip.data() + 12, &v4, 4);
  return ip;
}

bool is_loopback(std::string_view host) {
  if (http::equals_ignoring_case(host, "localhost")) return true;
  auto ip = parse_ip(host);
  if (!ip) return false;
  Ip v6{};
  v6[15] = 1;
  bool mapped = (*ip)[10] == 0xff && (*ip)[11] == 0xff &&
                std::all_of(ip->begin(), ip->begin() + 10, [](auto b) { return b == 0; });
  return *ip == v6 || (mapped && (*ip)[12] == 127);
}

bool in_network(const Ip& ip, std::string_view network, std::string_view length) {
  auto base = parse_ip(network);
  unsigned bits = 0;
  auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  bool v6 = network.find(':') != std::string_view::npos;
  if (!base || error != std::errc() || end != length.data() + length.size() || bits > (v6 ? 128u : 32u))
    return false;
  if (!v6) bits += 96;
  for (unsigned i = 0; i < bits; ++i) {
    unsigned char mask = static_cast<unsigned char>(0x80u >> (i % 8));
    if (((ip[i / 8] ^ (*base)[i / 8]) & mask) != 0) return false;
  }
  return true;
}

bool ends_with_ignoring_case(std::string_view text, std::string_view end) {
  return text.size() > end.size() && http::equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

std::string_view without_brackets(std::string_view host) {
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

bool entry_names(std::string_view entry, std::string_view host, uint16_t port) {
  if (entry == "*") return true;
  size_t colon = entry.rfind(':');
  bool bare_v6 = entry.find(':') != colon && (entry.empty() || entry.front() != '[');
  if (colon != std::string_view::npos && !bare_v6 && (entry.front() != '[' || entry[colon - 1] == ']')) {
    if (entry.substr(colon + 1) != std::to_string(port)) return false;
    entry = entry.substr(0, colon);
  }
  auto ip = parse_ip(host);
  if (size_t slash = entry.find('/'); slash != std::string_view::npos) {
    return ip && in_network(*ip, without_brackets(entry.substr(0, slash)), entry.substr(slash + 1));
  }
  entry = without_brackets(entry);
  if (ip) return parse_ip(entry) == ip;
  if (entry.substr(0, 2) == "*.") entry.remove_prefix(1);
  if (!entry.empty() && entry.front() == '.') return ends_with_ignoring_case(host, entry);
  return http::equals_ignoring_case(host, entry) || ends_with_ignoring_case(host, "." + std::string(entry));
}

// The first of these variables with a value.
std::string first_of(const Environment& env, std::initializer_list<std::string_view> names,
                     std::string_view& used) {
  for (std::string_view name : names) {
    auto value = env(name);
    if (!value || value->empty()) continue;
    used = name;
    return *value;
  }
  return {};
}

}  // namespace

Result<HttpProxy> parse_proxy(std::string_view text) {
  size_t scheme = text.find("://");
  std::string_view rest = text;
  if (scheme != std::string_view::npos) {
    if (!http::equals_ignoring_case(text.substr(0, scheme), "http"))
      return fail("only http:// proxies are spoken to");
    rest.remove_prefix(scheme + 3);
  }
  HttpProxy proxy;
  size_t authority_end = rest.find_first_of("/?#");
  if (authority_end != std::string_view::npos && rest.substr(authority_end) != "/")
    return fail("the URL of a proxy has no path");
  rest = rest.substr(0, authority_end);
  if (size_t at = rest.rfind('@'); at != std::string_view::npos) {
    auto credentials = http::percent_decoded(rest.substr(0, at));
    if (!credentials || credentials->size() > 4096) return fail("the credentials of the proxy are not valid");
    if (credentials->find(':') == std::string::npos) *credentials += ':';
    proxy.authorization = basic_credentials(*credentials);
    rest.remove_prefix(at + 1);
  }
  auto url = parse_http_url("http://" + std::string(rest));
  if (!url) return fail("it names no valid host and port");
  proxy.host = url->host;
  proxy.port = url->port;
  return proxy;
}

bool bypasses_proxy(std::string_view no_proxy, std::string_view host, uint16_t port) {
  if (is_loopback(host)) return true;
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  while (!no_proxy.empty()) {
    size_t end = std::min(no_proxy.find_first_of(", \t"), no_proxy.size());
    std::string_view entry = no_proxy.substr(0, end);
    no_proxy.remove_prefix(std::min(end + 1, no_proxy.size()));
    if (!entry.empty() && entry_names(entry, host, port)) return true;
  }
  return false;
}

Environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::optional<HttpProxy>> choose_proxy(const HttpUrl& url, std::string_view option,
                                              const Environment& env) {
  using Chosen = std::optional<HttpProxy>;
  if (!url.unix_path.empty() || option == "none") return Chosen();
  if (!option.empty()) {
    auto proxy = parse_proxy(option);
    if (!proxy) return fail("its proxy cannot be used: " + proxy.error().text);
    return Chosen(*proxy);
  }
  // A CGI server sets upper-case HTTP_PROXY from a client's header `Proxy`: like curl, Lineward ignores it.
  std::string_view used;
  std::string value =
      url.tls ? first_of(env, {"https_proxy", "HTTPS_PROXY"}, used) : first_of(env, {"http_proxy"}, used);
  if (value.empty()) return Chosen();
  std::string_view unused;
  if (bypasses_proxy(first_of(env, {"no_proxy", "NO_PROXY"}, unused), url.host, url.port)) return Chosen();
  auto proxy = parse_proxy(value);
  if (!proxy)
    return fail(fmt::format("the proxy that {} names cannot be used: {}", used, proxy.error().text));
  return Chosen(*proxy);
}

}  // namespace lineward::upstream

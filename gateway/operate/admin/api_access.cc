#include "operate/admin/api_access.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/reader/admin.h"

namespace lineward::admin {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// The host of "name:port", "[::1]:port" or "name"; empty for other text.
std::string_view without_port(std::string_view host) {
  if (host.empty() || host.front() != '[') return host.substr(0, host.rfind(':'));
  size_t close = host.find(']');
  if (close == std::string_view::npos) return {};
  const bool ends = close + 1 == host.size() || host[close + 1] == ':';
  return ends ? host.substr(1, close - 1) : std::string_view();
}

bool is_address(std::string_view host) {
  unsigned char bytes[sizeof(in6_addr)];
  const std::string text(host);
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool is_named_host(std::string_view host, const config::Admin& admin) {
  const std::string_view name = without_port(host);
  return std::any_of(admin.allowed_hosts.begin(), admin.allowed_hosts.end(), [&](const std::string& one) {
    return http::equals_ignoring_case(one, name) || http::equals_ignoring_case(one, host);
  });
}

Access denied(int status, std::string_view text) {
  Access out;
  out.refusal = refused(status, text);
  return out;
}

Access as(Role role, const config::Admin& admin, std::string who) {
  Access out;
  out.role = admin.read_only ? Role::read : role;
  out.who = std::move(who);
  return out;
}

// The role of the token that `is_it` accepts. All are compared, so that the time taken does not reveal which
// one matched.
template <class IsIt>
std::optional<Role> role_among(const std::vector<config::AdminToken>& tokens, IsIt&& is_it) {
  std::optional<Role> role;
  for (const config::AdminToken& one : tokens) {
    const bool same = is_it(one.token);
    if (same && role != Role::operate) role = one.operate ? Role::operate : Role::read;
  }
  return role;
}

bool same_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Access by_token(const PlainRequest& request, const config::Admin& admin, const ConsoleLogins* logins) {
  auto tokens = config::read_admin_tokens(admin.token_file);
  if (!tokens) return denied(503, "admin.tokenFile cannot be read; see validate");
  const http::HeaderList& headers = request.head.headers;
  auto given = bearer_of(headers);
  std::optional<Role> role;
  if (given) role = role_among(*tokens, [&](std::string_view one) { return same_bytes(*given, one); });
  if (logins != nullptr && headers.find("Authorization") == nullptr) {
    if (auto digest = logins->digest_of(login_of(headers)))
      role = role_among(*tokens, [&](std::string_view one) { return ConsoleLogins::digest(one) == *digest; });
    // Browsers send cookies automatically: a change must name its origin.
    if (role && request.head.method != "GET" && headers.find("Origin") == nullptr)
      return denied(403, "a request with the console's cookie has an Origin");
  }
  if (role) return as(*role, admin, request.peer);
  Access out =
      denied(401, given ? "this token is none of admin.tokenFile" : "a token of admin.tokenFile is needed");
  out.refusal.headers.push_back({"WWW-Authenticate", "Bearer realm=\"lineward admin\""});
  return out;
}

// The Origin of a page from here: over http, or a name of admin.allowedHosts behind a TLS proxy.
bool is_own_origin(std::string_view origin, std::string_view host, const config::Admin& admin) {
  if (http::equals_ignoring_case(origin, "http://" + std::string(host))) return true;
  return is_named_host(host, admin) && http::equals_ignoring_case(origin, "https://" + std::string(host));
}

}  // namespace

std::optional<std::string_view> bearer_of(const http::HeaderList& headers) {
  if (headers.count("Authorization") != 1) return std::nullopt;
  std::string_view value = headers.get("Authorization");
  if (value.size() <= kBearer.size() || !http::equals_ignoring_case(value.substr(0, kBearer.size()), kBearer))
    return std::nullopt;
  return http::trim_white_space(value.substr(kBearer.size()));
}

PlainResponse refused(int status, std::string_view text) {
  PlainResponse out;
  out.status = status;
  out.content_type = "application/json";
  out.body = nlohmann::json{{"error", text}}.dump() + "\n";
  return out;
}

bool is_own_host(std::string_view host, const config::Admin& admin) {
  std::string_view name = without_port(host);
  if (name.empty()) return false;
  if (http::equals_ignoring_case(name, "localhost") || is_address(name)) return true;
  return is_named_host(host, admin);
}

std::optional<Role> role_of_token(std::string_view token, const config::Admin& admin) {
  auto tokens = config::read_admin_tokens(admin.token_file);
  if (!tokens) return std::nullopt;
  return role_among(*tokens, [&](std::string_view one) { return same_bytes(token, one); });
}

Access access_of(const PlainRequest& request, const config::Admin& admin, Way way, bool loopback,
                 const ConsoleLogins* logins) {
  const http::HeaderList& headers = request.head.headers;
  if (way == Way::socket) {
    if (!request.uid || (*request.uid != geteuid() && *request.uid != 0))
      return denied(403, "this gateway answers its own user and root");
    // A browser cannot reach a Unix socket, except through a proxy in front of it.
    if (headers.find("Origin") != nullptr) return denied(403, "not for web pages");
    return as(Role::operate, admin, fmt::format("uid {}", *request.uid));
  }
  const std::string_view host = headers.get("Host");
  if (!is_own_host(host, admin)) return denied(403, "this Host is not served here (admin.allowedHosts)");
  if (headers.find("Origin") != nullptr) {
    if (headers.count("Origin") != 1 || !is_own_origin(headers.get("Origin"), host, admin))
      return denied(403, "not for pages of other origins");
  }
  if (!admin.token_file.empty()) return by_token(request, admin, logins);
  if (!loopback) return denied(403, "without admin.tokenFile only this machine is answered");
  return as(Role::operate, admin, request.peer);
}

}  // namespace lineward::admin

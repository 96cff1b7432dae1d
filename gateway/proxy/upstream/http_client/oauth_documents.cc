#include "proxy/upstream/http_client/oauth_documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/rand.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "foundation/json/json_document.h"
#include "proxy/upstream/http_client/basic_credentials.h"
#include "proxy/upstream/http_client/jwt_signer.h"

namespace lineward::upstream {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxValue = 2048;   // of a challenge's parameter
constexpr size_t kMaxToken = 16384;  // header lines are bounded
constexpr int64_t kAssertionLasts = 300;
constexpr std::string_view kAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

std::optional<Json> parse_object(std::string_view text) {
  Json json = json::parse_document(text);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::string text_of(const Json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> out;
  auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return out;
  for (const Json& item : *found) {
    if (item.is_string() && out.size() < 100) out.push_back(item.get<std::string>());
  }
  return out;
}

// "https://host:1" and "/path?query" of a URL.
std::pair<std::string_view, std::string_view> split(std::string_view url) {
  size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {url, {}};
  size_t path = url.find_first_of("/?", scheme + 3);
  if (path == std::string_view::npos) return {url, {}};
  return {url.substr(0, path), url.substr(path)};
}

std::string_view without_last_slash(std::string_view text) {
  if (!text.empty() && text.back() == '/') text.remove_suffix(1);
  return text;
}

std::string form_encoded(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '.' || c == '_' || c == '~';
    if (plain) {
      out += static_cast<char>(c);
    } else {
      out += fmt::format("%{:02X}", c);
    }
  }
  return out;
}

void add(std::string& body, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  body += fmt::format("{}{}={}", body.empty() ? "" : "&", name, form_encoded(value));
}

bool offers(const ServerMetadata& server, std::string_view method) {
  if (server.auth_methods.empty()) return method == "client_secret_basic";
  return std::find(server.auth_methods.begin(), server.auth_methods.end(), method) !=
         server.auth_methods.end();
}

// RFC 7523 section 3, with the issuer as the only audience.
Result<std::string> assertion(const config::ClientCredentials& credentials, const ServerMetadata& server,
                              int64_t now) {
  unsigned char random[16];
  if (RAND_bytes(random, sizeof random) != 1) return fail("no random bytes for an assertion");
  std::string id;
  for (unsigned char byte : random)
    id += fmt::format("{:02x}", byte);
  const std::string& audience = server.issuer.empty() ? server.token_endpoint : server.issuer;
  Json claims = {{"iss", credentials.client_id},
                 {"sub", credentials.client_id},
                 {"aud", audience},
                 {"jti", id},
                 {"iat", now},
                 {"exp", now + kAssertionLasts}};
  // Text that is not UTF-8 in the server's values would throw.
  auto token = signed_token(claims.dump(-1, ' ', false, Json::error_handler_t::replace),
                            credentials.algorithm, credentials.private_key);
  if (!token) return fail("clientCredentials.privateKey cannot be used: " + token.error().text);
  return token;
}

}  // namespace

// RFC 9110 11.2: schemes and their parameters in one list; only Bearer is read.
Challenge read_challenge(const http::HeaderList& headers) {
  Challenge challenge;
  for (const http::Header& header : headers.all()) {
    if (!http::equals_ignoring_case(header.name, "WWW-Authenticate")) continue;
    std::string_view rest = header.value;
    bool bearer = false;
    while (!rest.empty()) {
      size_t start = rest.find_first_not_of(" \t,");
      if (start == std::string_view::npos) break;
      rest.remove_prefix(start);
      size_t end = rest.find_first_of(" \t,=");
      std::string_view word = rest.substr(0, end);
      rest.remove_prefix(word.size());
      size_t next = rest.find_first_not_of(" \t");
      if (next == std::string_view::npos || rest[next] != '=') {
        bearer = http::equals_ignoring_case(word, "Bearer");
        continue;
      }
      rest.remove_prefix(std::min(next + 1, rest.size()));
      rest = http::trim_white_space(rest);
      std::string value;
      if (!rest.empty() && rest.front() == '"') {
        size_t at = 1;
        for (; at < rest.size() && rest[at] != '"'; ++at) {
          if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
          value += rest[at];
        }
        rest.remove_prefix(std::min(at + 1, rest.size()));
      } else {
        size_t stop = rest.find_first_of(" \t,");
        value = std::string(rest.substr(0, stop));
        rest.remove_prefix(value.size());
      }
      if (!bearer || value.size() > kMaxValue) continue;
      if (http::equals_ignoring_case(word, "resource_metadata")) challenge.resource_metadata = value;
      if (http::equals_ignoring_case(word, "scope")) challenge.scope = value;
      if (http::equals_ignoring_case(word, "error")) challenge.error = value;
    }
  }
  return challenge;
}

std::vector<std::string> resource_metadata_urls(std::string_view resource) {
  constexpr std::string_view kWellKnown = "/.well-known/oauth-protected-resource";
  auto [origin, path] = split(resource.substr(0, resource.find('?')));
  std::vector<std::string> urls;
  if (!without_last_slash(path).empty()) urls.push_back(fmt::format("{}{}{}", origin, kWellKnown, path));
  urls.push_back(fmt::format("{}{}", origin, kWellKnown));
  return urls;
}

Result<ResourceMetadata> read_resource_metadata(std::string_view text, std::string_view resource) {
  auto json = parse_object(text);
  if (!json) return fail("its metadata is no JSON object");
  ResourceMetadata out{text_of(*json, "resource"), texts_of(*json, "authorization_servers"),
                       texts_of(*json, "scopes_supported")};
  auto [origin, path] = split(out.resource);
  auto [our_origin, our_path] = split(resource);
  std::string_view above = without_last_slash(path);
  bool covers =
      http::equals_ignoring_case(origin, our_origin) && our_path.substr(0, above.size()) == above &&
      (our_path.size() == above.size() || our_path[above.size()] == '/' || our_path[above.size()] == '?');
  if (!covers) return fail("its metadata is about another resource");
  if (out.authorization_servers.empty()) return fail("its metadata names no authorization server");
  return out;
}

std::vector<std::string> server_metadata_urls(std::string_view issuer) {
  auto [origin, path] = split(issuer);
  path = without_last_slash(path);
  if (path.empty()) {
    return {fmt::format("{}/.well-known/oauth-authorization-server", origin),
            fmt::format("{}/.well-known/openid-configuration", origin)};
  }
  return {fmt::format("{}/.well-known/oauth-authorization-server{}", origin, path),
          fmt::format("{}/.well-known/openid-configuration{}", origin, path),
          fmt::format("{}{}/.well-known/openid-configuration", origin, path)};
}

Result<ServerMetadata> read_server_metadata(std::string_view text, std::string_view issuer) {
  auto json = parse_object(text);
  if (!json) return fail("its metadata is no JSON object");
  ServerMetadata out{text_of(*json, "issuer"), text_of(*json, "token_endpoint"),
                     texts_of(*json, "token_endpoint_auth_methods_supported")};
  if (out.issuer != issuer) return fail("its metadata names another issuer");
  if (out.token_endpoint.empty()) return fail("its metadata names no token endpoint");
  return out;
}

std::string union_of_scopes(std::string_view a, std::string_view b) {
  std::vector<std::string_view> all;
  for (std::string_view list : {a, b}) {
    while (!list.empty()) {
      size_t end = std::min(list.find(' '), list.size());
      std::string_view word = list.substr(0, end);
      list.remove_prefix(std::min(end + 1, list.size()));
      if (!word.empty() && std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
    }
  }
  return fmt::format("{}", fmt::join(all, " "));
}

Result<TokenRequest> token_request(const config::ClientCredentials& credentials, const ServerMetadata& server,
                                   std::string_view resource, std::string_view scope, int64_t now) {
  TokenRequest out;
  add(out.body, "grant_type", "client_credentials");
  add(out.body, "scope", scope);
  add(out.body, "resource", resource);
  if (!credentials.private_key.empty()) {
    auto signed_text = assertion(credentials, server, now);
    if (!signed_text) return Unexpected<Error>{signed_text.error()};
    add(out.body, "client_id", credentials.client_id);
    add(out.body, "client_assertion_type", kAssertionType);
    add(out.body, "client_assertion", *signed_text);
  } else if (offers(server, "client_secret_basic") || !offers(server, "client_secret_post")) {
    // RFC 6749 2.3.1: both are form-encoded before they are joined.
    out.authorization = basic_credentials(form_encoded(credentials.client_id) + ":" +
                                          form_encoded(credentials.client_secret));
  } else {
    add(out.body, "client_id", credentials.client_id);
    add(out.body, "client_secret", credentials.client_secret);
  }
  return out;
}

Result<AccessToken> read_token_answer(int status, std::string_view text) {
  auto json = parse_object(text);
  if (status != 200) {
    // Only an OAuth error code is shown; any other text is unsafe.
    std::string code = json ? text_of(*json, "error") : std::string();
    bool word = !code.empty() && code.size() <= 40 && std::all_of(code.begin(), code.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || c == '_';
    });
    return fail(fmt::format("refused with status {}{}{}", status, word ? ": " : "", word ? code : ""));
  }
  if (!json) return fail("gave a token answer that is no JSON object");
  AccessToken token{text_of(*json, "access_token"), std::nullopt};
  bool visible =
      std::all_of(token.value.begin(), token.value.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (token.value.empty() || token.value.size() > kMaxToken || !visible)
    return fail("gave no usable access_token");
  if (!http::equals_ignoring_case(text_of(*json, "token_type"), "Bearer"))
    return fail("gave a token that is no Bearer token");
  auto expires = json->find("expires_in");
  if (expires != json->end() && expires->is_number_integer()) token.expires_in = expires->get<int64_t>();
  return token;
}

}  // namespace lineward::upstream

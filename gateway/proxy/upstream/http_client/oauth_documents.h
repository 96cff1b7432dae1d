// The documents and messages of OAuth client credentials for a protected MCP server, as data: challenges,
// metadata, token requests and answers. Follows the MCP authorization pages of 2026-07-28 and RFC 6750, 7523,
// 8414, 8707, 9728. Pure: no I/O, the time is a parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/base/result.h"
#include "protocol/http/header_list.h"

namespace lineward::upstream {

// The Bearer challenge of a 401 or 403.
struct Challenge {
  std::string resource_metadata;
  std::string scope;
  std::string error;
};
Challenge read_challenge(const http::HeaderList& headers);

// The possible URLs of a resource's metadata: at its path first, then at the root.
std::vector<std::string> resource_metadata_urls(std::string_view resource);
struct ResourceMetadata {
  std::string resource;
  std::vector<std::string> authorization_servers;
  std::vector<std::string> scopes;
};
// `resource` is the called URL: the document must be about it, or about a parent on the same origin.
Result<ResourceMetadata> read_resource_metadata(std::string_view json, std::string_view resource);

// The possible URLs of an issuer's metadata, in the order of the attempts.
std::vector<std::string> server_metadata_urls(std::string_view issuer);
struct ServerMetadata {
  std::string issuer;
  std::string token_endpoint;
  std::vector<std::string> auth_methods;  // empty: client_secret_basic
};
// Its `issuer` must be exactly `issuer`.
Result<ServerMetadata> read_server_metadata(std::string_view json, std::string_view issuer);

// All scopes of both, each once.
std::string union_of_scopes(std::string_view a, std::string_view b);

struct TokenRequest {
  std::string authorization;  // a header value, or empty
  std::string body;           // application/x-www-form-urlencoded
};
// `now` in seconds since 1970, for the assertion of private_key_jwt.
Result<TokenRequest> token_request(const config::ClientCredentials& credentials, const ServerMetadata& server,
                                   std::string_view resource, std::string_view scope, int64_t now);

struct AccessToken {
  std::string value;
  std::optional<int64_t> expires_in;  // seconds
};
// The error contains OAuth's error code at most, never the request.
Result<AccessToken> read_token_answer(int status, std::string_view json);

}  // namespace lineward::upstream

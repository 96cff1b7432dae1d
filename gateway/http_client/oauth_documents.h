// The documents and messages of OAuth client credentials towards a protected MCP server, as data: challenges,
// metadata, token requests and answers (MCP authorization pages of 2026-07-28; RFC 6750, 7523, 8414, 8707,
// 9728). Pure: no I/O, no clock but what it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "http/header_list.h"

namespace lineward::upstream {

// The Bearer challenge of a 401 or 403.
struct Challenge {
  std::string resource_metadata;
  std::string scope;
  std::string error;
};
Challenge read_challenge(const http::HeaderList& headers);

// Where a resource's metadata may be: at its path first, then at the root.
std::vector<std::string> resource_metadata_urls(std::string_view resource);
struct ResourceMetadata {
  std::string resource;
  std::vector<std::string> authorization_servers;
  std::vector<std::string> scopes;
};
// `resource` is what we call: the document must be about it, or about something above it on the same origin.
Result<ResourceMetadata> read_resource_metadata(std::string_view json, std::string_view resource);

// Where an issuer's metadata may be, in the order in which to ask.
std::vector<std::string> server_metadata_urls(std::string_view issuer);
struct ServerMetadata {
  std::string issuer;
  std::string token_endpoint;
  std::vector<std::string> auth_methods;  // empty: client_secret_basic
};
// Its `issuer` must be `issuer` to the letter.
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
// The error holds OAuth's error code at most, never what was sent.
Result<AccessToken> read_token_answer(int status, std::string_view json);

}  // namespace lineward::upstream

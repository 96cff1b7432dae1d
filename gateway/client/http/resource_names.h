// The names under which the plain sidecar's client and its server know the same protected resource
// (RFC 9728; MCP authorization, "Protected Resource Metadata Discovery Requirements"). What a server says of
// itself under the address that only Lineward uses is told under the address that the client uses; what names
// any other place, such as the server's public address, passes as it is. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/headers.h"
#include "http/request_parser.h"
#include "http/writer.h"

namespace lineward::client {

inline constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";
// Where clients of 2025-03-26 look on the server's own origin (RFC 8414, OpenID Connect Discovery).
inline constexpr std::string_view kAuthorizationMetadata = "/.well-known/oauth-authorization-server";
inline constexpr std::string_view kOpenidMetadata = "/.well-known/openid-configuration";

// Where a client is: what it wrote before the path of its request, and the path of the MCP endpoint it uses.
struct ClientSide {
  std::string origin;  // "http://127.0.0.1:8000"; empty: cannot be told
  std::string endpoint;
};

// A document by which a server says where its tokens come from.
struct WellKnown {
  std::string_view place;  // one of those above
  std::string endpoint;    // the MCP endpoint that the client's path names; empty: none
  bool behind = false;     // the endpoint comes first, as OpenID Connect Discovery has it
  bool is_of_resource() const { return place == kResourceMetadata; }
};
// Nothing: this path is none.
std::optional<WellKnown> well_known(std::string_view path);

class ResourceNames {
 public:
  // The server's URL in two parts, such as "http://127.0.0.1:3000" and "/api/mcp".
  ResourceNames(const std::string& origin, const std::string& path);

  // Where the server has the document that a client asks for.
  std::string metadata_path(const WellKnown& asked) const;
  // The value of a WWW-Authenticate header.
  std::string challenge(std::string_view value, const ClientSide& client) const;
  // The metadata document: its `resource`. Nothing when it is no JSON object with a `resource`.
  std::optional<std::string> document(const std::string& json, const ClientSide& client) const;

 private:
  // A URL below the server's own origin: its path. Nothing for all others.
  std::optional<std::string> own_path(std::string_view url) const;

  std::string origin_;  // normalised
  std::string path_;
};

// The side of a client, from its request: Host, and X-Forwarded-Proto where TLS ends in front of Lineward (it
// changes nothing but what this client itself is told).
ClientSide client_side(const http::RequestHead& head);

// A server's headers as the client of this request is told them; without `names` as they are.
std::vector<http::OutHeader> told_headers(const core::HeaderFields& fields, const ResourceNames* names,
                                          const http::RequestHead& head);

}  // namespace lineward::client

// Maps a protected resource's names between the plain sidecar's client and its server (RFC 9728; MCP
// authorization, "Protected Resource Metadata Discovery Requirements"). The server's address as Lineward uses
// it is replaced by the address that the client uses. Other addresses, such as the server's public one, pass
// unchanged. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/request_parser.h"
#include "protocol/http/writer.h"
#include "proxy/core/headers.h"

namespace lineward::client {

inline constexpr std::string_view kResourceMetadata = "/.well-known/oauth-protected-resource";
// The paths that clients of 2025-03-26 look up on the server's own origin (RFC 8414, OpenID Connect
// Discovery).
inline constexpr std::string_view kAuthorizationMetadata = "/.well-known/oauth-authorization-server";
inline constexpr std::string_view kOpenidMetadata = "/.well-known/openid-configuration";

// The client's view: the origin before the path of its request, and the path of its MCP endpoint.
struct ClientSide {
  std::string origin;  // "http://127.0.0.1:8000"; empty: unknown
  std::string endpoint;
};

// A document by which a server names its authorization server.
struct WellKnown {
  std::string_view place;  // one of those above
  std::string endpoint;    // the MCP endpoint in the client's path; empty: none
  bool behind = false;     // the endpoint comes first, as in OpenID Connect Discovery
  bool is_of_resource() const { return place == kResourceMetadata; }
};
// Empty: this path is not a well-known one.
std::optional<WellKnown> well_known(std::string_view path);

class ResourceNames {
 public:
  // The server's URL in two parts, such as "http://127.0.0.1:3000" and "/api/mcp".
  ResourceNames(const std::string& origin, const std::string& path);

  // The path of the requested document on the server.
  std::string metadata_path(const WellKnown& asked) const;
  // Rewrites the value of a WWW-Authenticate header.
  std::string challenge(std::string_view value, const ClientSide& client) const;
  // Rewrites `resource` in the metadata document. Empty when it is not a JSON object with a `resource`.
  std::optional<std::string> document(const std::string& json, const ClientSide& client) const;

 private:
  // The path of a URL below the server's own origin. Empty for all other URLs.
  std::optional<std::string> own_path(std::string_view url) const;

  std::string origin_;  // normalised
  std::string path_;
};

// A client's view, from its request: Host, and X-Forwarded-Proto where TLS ends in front of Lineward (it only
// changes the answer to this client).
// `tls`: of this connection, rather than of a proxy in front.
ClientSide client_side(const http::RequestHead& head, bool tls = false);

// A server's headers, rewritten for the client of this request; without `names` unchanged.
std::vector<http::OutHeader> told_headers(const core::HeaderFields& fields, const ResourceNames* names,
                                          const http::RequestHead& head, bool tls);

}  // namespace lineward::client

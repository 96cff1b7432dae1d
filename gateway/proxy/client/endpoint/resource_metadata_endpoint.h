// Protected-resource metadata (RFC 9728), by which clients find out where to get a token. Lineward's own
// documents are made from the configuration and need no authentication. A plain sidecar serves its server's
// document, fetched each time and rewritten to the client's names (proxy/client/http/resource_names.h). A
// server of 2025-03-26 has no such document and is its own authorization server: its authorization server
// metadata (RFC 8414) is fetched likewise.
//
// Owned by the HttpFront. Must be notified of each closed connection. A failed fetch is answered with the
// status that its source reports.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "foundation/net/lifetime.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/front_listener.h"
#include "proxy/core/document_source.h"

namespace lineward::client {

class ResourceMetadataEndpoint {
 public:
  ResourceMetadataEndpoint(const config::Listen& config, const FrontListener& listener,
                           const PathRouter& router, const RefusalWriter& refusals);
  ResourceMetadataEndpoint(const ResourceMetadataEndpoint&) = delete;
  ResourceMetadataEndpoint& operator=(const ResourceMetadataEndpoint&) = delete;

  // `fetch`: from the plain sidecar's server, or empty. The server must outlive this, or be reset first.
  void use_source(core::FetchDocument fetch) { fetch_ = std::move(fetch); }
  // False: the path is not one of Lineward's own documents. Runs before authentication.
  bool serve_own(ClientConnection& connection);
  // False: the path is not a server's metadata.
  bool serve(ClientConnection& connection);
  void client_left(const ClientConnection& connection) { awaiting_.erase(&connection); }

 private:
  void fetch(ClientConnection& connection, const WellKnown& asked);

  const config::Listen& config_;
  const FrontListener& listener_;
  const PathRouter& router_;
  const RefusalWriter& refusals_;
  core::FetchDocument fetch_;
  std::unordered_map<const ClientConnection*, uint64_t> awaiting_;  // the number of its waiting request
  uint64_t next_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

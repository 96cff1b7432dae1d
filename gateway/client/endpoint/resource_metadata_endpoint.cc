#include "client/endpoint/resource_metadata_endpoint.h"

#include <string>
#include <utility>

#include "client/http/admission.h"
#include "client/http/cors.h"
#include "log/log.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxAwaiting = 64;  // asked for at once

}  // namespace

ResourceMetadataEndpoint::ResourceMetadataEndpoint(const config::Listen& config,
                                                   const FrontListener& listener, const PathRouter& router,
                                                   const RefusalWriter& refusals)
    : config_(config), listener_(listener), router_(router), refusals_(refusals) {}

// Read by clients that have no token yet, from whatever page they run in.
bool ResourceMetadataEndpoint::serve_own(ClientConnection& connection) {
  const auto& documents = router_.table().documents;
  if (documents.empty()) return false;
  const http::RequestHead& head = connection.head();
  auto document = documents.find(std::string(head.path));
  if (document == documents.end()) return false;
  if (auto refusal = check_host(head.headers, config_, listener_.is_loopback())) {
    refusals_.refuse(connection, *refusal);
  } else if (head.method == "GET" || head.method == "HEAD") {
    connection.respond(200, "application/json", document->second, public_headers());
  } else if (head.method == "OPTIONS") {
    connection.respond(204, {}, {}, public_headers());
  } else {
    refusals_.refuse(connection, not_allowed("GET, HEAD", "protected-resource metadata is read with GET"));
  }
  return true;
}

bool ResourceMetadataEndpoint::serve(ClientConnection& connection) {
  const std::string_view path = connection.head().path;
  const bool asked_for = path.substr(0, kResourceMetadata.size()) == kResourceMetadata;
  if (!router_.table().resource || source_ == nullptr || !asked_for) return false;
  fetch(connection);
  return true;
}

void ResourceMetadataEndpoint::fetch(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const PathTable& paths = router_.table();
  std::string endpoint(head.path.substr(kResourceMetadata.size()));
  if (!endpoint.empty() && paths.servers.count(endpoint) == 0) {
    return refusals_.refuse(connection, not_found("no protected resource has this name; " + paths.hint));
  }
  if (head.method != "GET") {
    return refusals_.refuse(connection, not_allowed("GET", "protected-resource metadata is read with GET"));
  }
  if (awaiting_.size() >= kMaxAwaiting)
    return refusals_.refuse(connection, unavailable("too many requests for metadata at once"));
  ClientSide side = client_side(head);
  side.endpoint = endpoint.empty() ? config_.path : endpoint;
  const uint64_t number = next_++;
  awaiting_[&connection] = number;
  auto done = lifetime_.guard([this, asker = &connection, number, side,
                               resource = paths.resource](Result<std::string, core::NoDocument> json) {
    auto found = awaiting_.find(asker);
    if (found == awaiting_.end() || found->second != number) return;  // the client went away
    awaiting_.erase(found);
    if (!json) return refusals_.refuse(*asker, refused_with(json.error().status, json.error().text));
    auto document = resource->document(*json, side);
    if (!document)
      return refusals_.refuse(*asker, refused_with(502, "the server's metadata names no resource"));
    log::write(log::Level::debug, "metadata.served", {{"remote", asker->peer()}});
    asker->respond(200, "application/json", *document, {{"Cache-Control", "no-store"}});
  });
  source_->fetch_document(paths.resource->metadata_path(endpoint), std::move(done));
}

}  // namespace lineward::client

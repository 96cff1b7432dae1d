#include "proxy/client/endpoint/resource_metadata_endpoint.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/cors.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxAwaiting = 64;  // fetches in flight

// A document of another kind is not passed on.
std::optional<std::string> with_issuer(const std::string& json) {
  if (json::validate(json) != json::Fault::none) return std::nullopt;
  auto issuer = json::member(json, "issuer");
  return issuer && issuer->front() == '"' ? std::optional(json) : std::nullopt;
}

}  // namespace

ResourceMetadataEndpoint::ResourceMetadataEndpoint(const config::Listen& config,
                                                   const FrontListener& listener, const PathRouter& router,
                                                   const RefusalWriter& refusals)
    : config_(config), listener_(listener), router_(router), refusals_(refusals) {}

// These documents are read by clients without a token, from any web origin.
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
  if (!router_.table().resource || !fetch_) return false;
  const auto asked = well_known(connection.head().path);
  if (!asked) return false;
  fetch(connection, *asked);
  return true;
}

void ResourceMetadataEndpoint::fetch(ClientConnection& connection, const WellKnown& asked) {
  const http::RequestHead& head = connection.head();
  const PathTable& paths = router_.table();
  const std::string& endpoint = asked.endpoint;
  const bool of_resource = asked.is_of_resource();
  const std::string_view what = of_resource ? "protected resource" : "authorization server";
  if (!endpoint.empty() && paths.servers.count(endpoint) == 0)
    return refusals_.refuse(connection, not_found(fmt::format("no {} has this name; {}", what, paths.hint)));
  if (head.method != "GET") {
    return refusals_.refuse(connection,
                            not_allowed("GET", of_resource ? "protected-resource metadata is read with GET"
                                                           : "authorization metadata is read with GET"));
  }
  if (awaiting_.size() >= kMaxAwaiting)
    return refusals_.refuse(connection, unavailable("too many requests for metadata at once"));
  ClientSide side = client_side(head, connection.is_secure());
  side.endpoint = endpoint.empty() ? config_.path : endpoint;
  const uint64_t number = next_++;
  awaiting_[&connection] = number;
  auto done = lifetime_.guard([this, asker = &connection, number, side, of_resource,
                               resource = paths.resource](Result<std::string, core::NoDocument> json) {
    auto found = awaiting_.find(asker);
    if (found == awaiting_.end() || found->second != number) return;  // the client disconnected
    awaiting_.erase(found);
    if (!json) return refusals_.refuse(*asker, refused_with(json.error().status, json.error().text));
    // An authorization server's own metadata stays unchanged: Lineward issues no tokens.
    auto document = of_resource ? resource->document(*json, side) : with_issuer(*json);
    if (!document) {
      return refusals_.refuse(*asker, refused_with(502, fmt::format("the server's metadata names no {}",
                                                                    of_resource ? "resource" : "issuer")));
    }
    log::write(log::Level::debug, "metadata.served", {{"remote", asker->client()}});
    asker->respond(200, "application/json", *document, {{"Cache-Control", "no-store"}});
  });
  fetch_(paths.resource->metadata_path(asked), std::move(done));
}

}  // namespace lineward::client

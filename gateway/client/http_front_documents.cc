// The half of HttpFront that makes the plain sidecar its server's face for authorization: what of a client's
// head goes on, and the server's protected-resource metadata (RFC 9728; BEHAVIOUR 11).
#include "base/log.h"
#include "client/http_front.h"

namespace lineward::client {
namespace {

constexpr size_t kMostDocuments = 64;  // asked for at once

}  // namespace

void HttpFront::look_up(std::string_view path, HeadFacts& facts) const {
  facts.paths = paths_number_;
  facts.forwarded.reset();
  const std::string key(path);
  auto route = paths_.servers.find(key);
  const bool plain =
      route != paths_.servers.end() && paths_.sse_streams.count(key) == 0 && paths_.sse_posts.count(key) == 0;
  facts.server = plain ? &route->second : nullptr;
  facts.home = neighbours_ ? paths_.home(path) : 0;
}

core::SharedFields HttpFront::forwarded(ClientConnection& connection, const std::string& server,
                                        bool mirrored) const {
  HeadFacts& known = facts(connection);
  const bool kept = known.server != nullptr && *known.server == server;
  if (kept && known.forwarded && known.forwarded->mirrored == mirrored) return known.forwarded->fields;
  static const config::ForwardRules kNone;
  auto rules = paths_.forward.find(server);
  core::SharedFields fields = headers_to_forward(
      connection.head().headers, rules == paths_.forward.end() ? kNone : rules->second, mirrored);
  if (kept) known.forwarded = {mirrored, fields};
  return fields;
}

void HttpFront::resource_metadata(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  std::string endpoint(head.path.substr(kResourceMetadata.size()));
  if (!endpoint.empty() && paths_.servers.count(endpoint) == 0)
    return refuse(connection, {404, 404, "no protected resource has this name; " + paths_.hint, {}, {}});
  if (head.method != "GET")
    return refuse(connection, {405, 405, "protected-resource metadata is read with GET", {}, "GET"});
  if (awaiting_document_.size() >= kMostDocuments)
    return refuse(connection, {503, 503, "too many requests for metadata at once", {}, {}});
  ClientSide side = client_side(head);
  side.endpoint = endpoint.empty() ? config_.path : endpoint;
  uint64_t number = next_document_++;
  awaiting_document_[&connection] = number;
  auto done = lifetime_.guard([this, asker = &connection, number, side,
                               resource = paths_.resource](Result<std::string, core::NoDocument> json) {
    auto found = awaiting_document_.find(asker);
    if (found == awaiting_document_.end() || found->second != number) return;  // the client went away
    awaiting_document_.erase(found);
    if (!json) return refuse(*asker, {json.error().status, json.error().status, json.error().text, {}, {}});
    auto document = resource->document(*json, side);
    if (!document) return refuse(*asker, {502, 502, "the server's metadata names no resource", {}, {}});
    log::write(log::Level::debug, "metadata.served", {{"remote", asker->peer()}});
    asker->respond(200, "application/json", *document, {{"Cache-Control", "no-store"}});
  });
  documents_->fetch_document(paths_.resource->metadata_path(endpoint), std::move(done));
}

}  // namespace lineward::client

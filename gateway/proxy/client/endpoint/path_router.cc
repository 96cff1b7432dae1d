#include "proxy/client/endpoint/path_router.h"

#include <fmt/format.h>

#include <utility>

#include "proxy/core/identity.h"
#include "proxy/metrics/limits.h"

namespace lineward::client {

const std::string* PathTable::led_by(const std::string& path) const {
  if (auto found = servers.find(path); found != servers.end()) return &found->second;
  if (auto found = sse_posts.find(path); found != sse_posts.end()) return &found->second;
  auto found = leaving.find(path);
  return found == leaving.end() ? nullptr : &found->second;
}

const std::vector<std::string>& PathTable::before(std::string_view path) const {
  static const std::vector<std::string> kNone;
  if (former.empty()) return kNone;
  auto found = former.find(std::string(without_slash(path)));
  return found == former.end() ? kNone : found->second;
}

const PathTable::Place& PathTable::place_of(const std::string& server) const {
  static const Place kFirst;
  auto place = placement.find(server);
  return place == placement.end() ? kFirst : place->second;
}

const PathTable::Place& PathTable::place_at(std::string_view path) const {
  const std::string key(path);
  if (auto route = servers.find(key); route != servers.end()) return place_of(route->second);
  for (const auto* table : {&sse_streams, &sse_posts}) {
    auto route = table->find(key);
    if (route != table->end()) return place_of(route->second);
  }
  if (auto route = leaving.find(key); route != leaving.end()) return place_of(route->second);
  // The metadata of the plain sidecar's server is served where that server is.
  const bool metadata = resource && well_known(path).has_value();
  return place_of(metadata && documents.count(key) == 0 ? plain : std::string());
}

void PathRouter::use(PathTable table) {
  table_ = std::move(table);
  ++number_;
}

HeadFacts& PathRouter::facts(ClientConnection& connection) const {
  HeadFacts& facts = connection.facts();
  if (facts.paths != number_) look_up(connection.head().path, facts);
  return facts;
}

void PathRouter::look_up(std::string_view path, HeadFacts& facts) const {
  facts.paths = number_;
  facts.forwarded.reset();
  const std::string key(path);
  auto route = table_.servers.find(key);
  const bool plain =
      route != table_.servers.end() && table_.sse_streams.count(key) == 0 && table_.sse_posts.count(key) == 0;
  facts.server = plain ? &route->second : nullptr;
  facts.worker.reset();
  facts.by_era = nullptr;
}

std::string_view PathRouter::server_of(const http::RequestHead& head) const {
  auto route = table_.servers.find(std::string(head.path));
  return route == table_.servers.end() ? std::string_view() : route->second;
}

std::string PathRouter::server_of_session(const http::RequestHead& head) const {
  const std::string path(head.path);
  auto found = table_.servers.find(path);
  if (found != table_.servers.end()) return found->second;
  found = table_.leaving.find(path);
  return found == table_.leaving.end() ? std::string() : found->second;
}

std::string_view PathRouter::server_of_sse_post(const http::RequestHead& head) const {
  if (table_.sse_posts.empty()) return {};
  auto route = table_.sse_posts.find(std::string(head.path));
  return route == table_.sse_posts.end() ? std::string_view() : route->second;
}

bool PathRouter::takes_posts(const http::RequestHead& head) const {
  const std::string path(head.path);
  return table_.servers.count(path) > 0 || table_.sse_posts.count(path) > 0 ||
         (table_.leaving.count(path) > 0 && head.headers.count("Mcp-Session-Id") > 0);
}

uint64_t PathRouter::most_bytes(std::string_view server) const {
  if (table_.most_bytes.empty()) return UINT64_MAX;
  auto found = table_.most_bytes.find(std::string(server));
  return found == table_.most_bytes.end() ? UINT64_MAX : found->second;
}

HttpError PathRouter::body_too_large(std::string_view server) const {
  metrics::limit_reached(metrics::Limit::request_bytes);
  return too_large(fmt::format("the body is larger than {} bytes (mcpServers.{}.limits.maxRequestBytes)",
                               most_bytes(server), server));
}

core::SharedFields PathRouter::forwarded(ClientConnection& connection, const std::string& server,
                                         Mirrored mirrored) const {
  HeadFacts& known = facts(connection);
  const bool kept = known.server != nullptr && *known.server == server;
  // The same head may be another caller's after a key or a rule has changed.
  const bool is_same = kept && known.forwarded && known.forwarded->mirrored == mirrored &&
                       known.forwarded->caller == connection.caller();
  if (is_same) return known.forwarded->fields;
  static const config::ForwardRules kNone;
  auto found = table_.forward.find(server);
  const config::ForwardRules& rules = found == table_.forward.end() ? kNone : found->second;
  core::HeaderFields chosen = headers_to_forward(connection.head().headers, rules, mirrored);
  if (connection.caller()) core::add_identity(chosen, rules.words(), *connection.caller());
  core::SharedFields fields(std::move(chosen));
  if (kept) known.forwarded = {mirrored, fields, connection.caller()};
  return fields;
}

}  // namespace lineward::client

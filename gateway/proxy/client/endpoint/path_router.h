// Maps a request's path to a server and its worker, and decides which headers are forwarded. A reload
// replaces the path table; the facts about a head that a connection has cached (HeadFacts) are then looked up
// again.
//
// Owned by the HttpFront; outlives every endpoint that uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/forward_rules.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/forwarding.h"
#include "proxy/client/http/refusal.h"
#include "proxy/client/http/resource_names.h"
#include "proxy/core/headers.h"
#include "proxy/upstream/shared/known_era.h"

namespace lineward::client {

// A trailing slash is not significant: a client may have built the address from parts.
inline std::string_view without_slash(std::string_view path) {
  return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
}

// Path → server name.
class ServerPaths : private std::unordered_map<std::string, std::string> {
  using Map = std::unordered_map<std::string, std::string>;

 public:
  using Map::begin;
  using Map::end;
  using Map::operator[];
  const_iterator find(const std::string& path) const {
    auto found = Map::find(path);
    const std::string_view own = without_slash(path);
    return found == end() && own.size() < path.size() ? Map::find(std::string(own)) : found;
  }
  size_t count(const std::string& path) const { return find(path) == end() ? 0 : 1; }
};

// The path of each server, and the configuration that depends on the path. Made at start and at each reload
// (runtime/routes.h). `servers` is also listed in the error for an unknown path.
struct PathTable {
  ServerPaths servers;
  std::unordered_map<std::string, std::string> sse_streams;  // the same for HTTP+SSE, where it is on
  // POST paths of HTTP+SSE clients, including those of sessions opened before a reload that have not ended.
  std::unordered_map<std::string, std::string> sse_posts;
  std::unordered_map<std::string, std::string> sse_post_of;  // by the path of the stream
  // Paths removed by a reload, with the server that still has sessions opened there and may soon be removed.
  // Only answers, notifications and DELETE are accepted there.
  ServerPaths leaving;
  // Paths, of HTTP+SSE too, that led to other servers before a reload, with the names of those that still
  // exist. Sessions opened there still accept answers, notifications and DELETE.
  std::unordered_map<std::string, std::vector<std::string>> former;
  std::string hint;
  std::unordered_map<std::string, config::ForwardRules> forward;  // by server name
  std::unordered_map<std::string, uint64_t> most_bytes;           // of a request's body, by server name
  std::unordered_map<std::string, std::string> documents;         // without authentication: path → JSON
  std::unordered_set<std::string> keep_state;                     // servers with `isolation: session`
  std::unordered_set<std::string> refuse_missing;                 // servers with `sessions.missing: refuse`
  std::shared_ptr<const ResourceNames> resource;                  // of the plain sidecar's server
  std::string plain;                                              // the plain sidecar's server
  struct Place {
    size_t home = 0;
    // Empty: it is at home only. Else all workers serve its sessions, and callers of the modern era while
    // each of these is modern: the server itself, or all servers as one.
    std::vector<std::shared_ptr<const upstream::KnownEra>> eras;
    bool shares_sessions = false;  // sessions of its clients are opened on all workers, too
    // They are where their ids say. Stays set while a version leaves that all workers served.
    bool by_id = false;
  };
  std::unordered_map<std::string, Place> placement;  // by server name; a server without an entry is on 0

  // The server that serves the sessions of a path; null: none.
  const std::string* led_by(const std::string& path) const;
  // The former servers of a path.
  const std::vector<std::string>& before(std::string_view path) const;

  // The workers that a server is on.
  const Place& place_of(const std::string& server) const;
  // The place of the server that answers requests for this path; the first worker where no server does.
  const Place& place_at(std::string_view path) const;
};

class PathRouter {
 public:
  explicit PathRouter(PathTable table) : table_(std::move(table)) {}
  PathRouter(const PathRouter&) = delete;
  PathRouter& operator=(const PathRouter&) = delete;

  const PathTable& table() const { return table_; }
  void use(PathTable table);

  // Facts that follow from the head of the current request and the current paths.
  HeadFacts& facts(ClientConnection& connection) const;
  // The server with its MCP endpoint at this path; empty: none.
  std::string_view server_of(const http::RequestHead& head) const;
  // The server of the session that a request may name at this path, even one that is being removed; empty:
  // none.
  std::string server_of_session(const http::RequestHead& head) const;
  // The same for the POST paths of HTTP+SSE clients.
  std::string_view server_of_sse_post(const http::RequestHead& head) const;
  // The answer for a path without a server.
  HttpError nothing_here() const { return not_found("nothing is served at this path; " + table_.hint); }
  // Does this path accept a request with a body?
  bool takes_posts(const http::RequestHead& head) const;

  // The limit on a request's body (limits.maxRequestBytes), and the answer to a larger body.
  bool limits_bodies() const { return !table_.most_bytes.empty(); }
  bool fits(uint64_t bytes, std::string_view server) const { return bytes <= most_bytes(server); }
  HttpError body_too_large(std::string_view server) const;
  // The headers that are forwarded to that server.
  core::SharedFields forwarded(ClientConnection& connection, const std::string& server,
                               Mirrored mirrored) const;

 private:
  uint64_t most_bytes(std::string_view server) const;
  void look_up(std::string_view path, HeadFacts& facts) const;

  PathTable table_;
  uint64_t number_ = 1;  // incremented by each reload
};

}  // namespace lineward::client

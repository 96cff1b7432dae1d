// The path of each server, and the configuration that depends on the path. Built at start and at each reload
// (routes.h); data only, no request is read here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "config/forward_rules.h"
#include "proxy/client/http/resource_names.h"

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

// `servers` is also listed in the error for an unknown path.
struct PathTable {
  ServerPaths servers;
  std::unordered_map<std::string, std::string> sse_streams;  // the same for HTTP+SSE, where it is on
  // POST paths of HTTP+SSE clients, including those of sessions opened before a reload that have not ended.
  std::unordered_map<std::string, std::string> sse_posts;
  std::unordered_map<std::string, std::string> sse_post_of;  // by the path of the stream
  // Paths removed by a reload, with the server that still has sessions opened there and may be about to
  // leave. Only answers, notifications and DELETE are accepted there.
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
  std::unordered_map<std::string, size_t> placement;  // by server name: its worker; 0 on other workers

  // The server that serves the sessions of a path; null: none.
  const std::string* led_by(const std::string& path) const;
  // The former servers of a path.
  const std::vector<std::string>& before(std::string_view path) const;

  // The worker that a server lives on.
  size_t home(const std::string& server) const {
    auto worker = placement.find(server);
    return worker == placement.end() ? 0 : worker->second;
  }
  // The worker that answers requests for this path; the first worker where no server does.
  size_t worker_of(std::string_view path) const;
};

}  // namespace lineward::client

// Which server is served at which path, and what of the configuration goes by paths. Made at start and at
// each reload (routes.h); data alone, nothing here looks at a request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/http/resource_names.h"
#include "config/forward_rules.h"

namespace lineward::client {

// A slash at the end of a path is none of its own: who puts an address together with one means the same.
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

// `servers` lists what there is, for the error of a wrong path.
struct PathTable {
  ServerPaths servers;
  std::unordered_map<std::string, std::string> sse_streams;  // the same for HTTP+SSE, where it is on
  // Where HTTP+SSE clients post to; also those who came before a reload and have not ended.
  std::unordered_map<std::string, std::string> sse_posts;
  std::unordered_map<std::string, std::string> sse_post_of;  // by the path of the stream
  // Paths that lead nowhere since a reload, with the server that has the sessions which were opened there,
  // and may be about to leave: only answers, notifications, and what ends a session are taken there.
  ServerPaths leaving;
  // Paths, of HTTP+SSE too, that led to other servers before a reload, with the names of those that are still
  // there: sessions that were opened there get answers, notifications, and what ends them through.
  std::unordered_map<std::string, std::vector<std::string>> former;
  std::string hint;
  std::unordered_map<std::string, config::ForwardRules> forward;  // by server name
  std::unordered_map<std::string, uint64_t> most_bytes;           // of a request's body, by server name
  std::unordered_map<std::string, std::string> documents;         // for everybody: path → JSON
  std::unordered_set<std::string> keep_state;                     // servers with `isolation: session`
  std::unordered_set<std::string> refuse_missing;                 // servers with `sessions.missing: refuse`
  std::shared_ptr<const ResourceNames> resource;                  // of the plain sidecar's server
  std::string plain;                                              // its name
  std::unordered_map<std::string, size_t>
      placement;  // by server name: the worker it lives on; 0 where it is not

  // The server whose sessions a path leads to; null: it leads nowhere.
  const std::string* led_by(const std::string& path) const;
  // The former servers of a path.
  const std::vector<std::string>& before(std::string_view path) const;

  // The worker that a server lives on.
  size_t home(const std::string& server) const {
    auto worker = placement.find(server);
    return worker == placement.end() ? 0 : worker->second;
  }
  // The worker that answers requests for this path; the first one where no server does.
  size_t worker_of(std::string_view path) const;
};

}  // namespace lineward::client

// Where a request's path leads today: to which server, on which worker, and what of its head goes on there. A
// reload puts another table of paths in place; what a connection has remembered of its head (head_facts.h) is
// looked up again then.
//
// Owned by the HttpFront; outlives every endpoint that asks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "client/endpoint/path_table.h"
#include "client/http/client_connection.h"
#include "client/http/forwarding.h"
#include "client/http/refusal.h"
#include "core/headers.h"

namespace lineward::client {

class PathRouter {
 public:
  explicit PathRouter(PathTable table) : table_(std::move(table)) {}
  PathRouter(const PathRouter&) = delete;
  PathRouter& operator=(const PathRouter&) = delete;

  const PathTable& table() const { return table_; }
  void use(PathTable table);
  // Servers live on several workers: facts() say on which.
  void look_for_workers() { is_placed_ = true; }

  // What follows from the head of the request being answered, and is of today's paths.
  HeadFacts& facts(ClientConnection& connection) const;
  // The server whose MCP endpoint is there; empty: none.
  std::string_view server_of(const http::RequestHead& head) const;
  // The server whose session a request may name there: one that is on its way out, too; empty: none.
  std::string server_of_session(const http::RequestHead& head) const;
  // The same for the paths that HTTP+SSE clients post to.
  std::string_view server_of_sse_post(const http::RequestHead& head) const;
  // The answer where no server is.
  HttpRefusal nothing_here() const { return not_found("nothing is served at this path; " + table_.hint); }
  // May a client write a request with a body there?
  bool takes_posts(const http::RequestHead& head) const;

  // The limit on a request's body (limits.maxRequestBytes), and the answer to what is larger.
  bool limits_bodies() const { return !table_.most_bytes.empty(); }
  bool fits(uint64_t bytes, std::string_view server) const { return bytes <= most_bytes(server); }
  HttpRefusal body_too_large(std::string_view server) const;
  // What of the head goes on to that server.
  core::SharedFields forwarded(ClientConnection& connection, const std::string& server,
                               Mirrored mirrored) const;

 private:
  uint64_t most_bytes(std::string_view server) const;
  void look_up(std::string_view path, HeadFacts& facts) const;

  PathTable table_;
  uint64_t number_ = 1;  // another with each reload
  bool is_placed_ = false;
};

}  // namespace lineward::client

// Maps a request's path to a server and its worker, and decides which headers are forwarded. A reload
// replaces the path table; facts that a connection has cached of its head (head_facts.h) are looked up again
// then.
//
// Owned by the HttpFront; outlives every endpoint that uses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/client/endpoint/path_table.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/forwarding.h"
#include "proxy/client/http/refusal.h"
#include "proxy/core/headers.h"

namespace lineward::client {

class PathRouter {
 public:
  explicit PathRouter(PathTable table) : table_(std::move(table)) {}
  PathRouter(const PathRouter&) = delete;
  PathRouter& operator=(const PathRouter&) = delete;

  const PathTable& table() const { return table_; }
  void use(PathTable table);
  // Servers live on several workers: facts() include the worker.
  void look_for_workers() { is_placed_ = true; }

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
  bool is_placed_ = false;
};

}  // namespace lineward::client

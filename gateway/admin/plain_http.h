// A small HTTP/1.1 server for people and probes: one request for each connection, answered now or later, then
// the connection is closed. Not for MCP; nothing of clients passes through it.
//
// Owned by a server of this module. Bounded: connections, head, body, and the time a request may take to
// arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/request_parser.h"
#include "http/writer.h"
#include "net/lifetime.h"
#include "net/listener.h"

namespace lineward::admin {

struct PlainRequest {
  const http::RequestHead& head;
  std::string path;   // without query, as it came
  std::string query;  // without '?'
  std::string body;
  std::optional<uint32_t> uid;  // of the process at the other end of a Unix socket

  // The value of a query parameter; nothing when it is not there, empty when it has none. Not decoded: no
  // parameter here needs more than plain characters.
  std::optional<std::string> parameter(std::string_view name) const;
};

struct PlainResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<http::OutHeader> headers;
};
// One sentence or a page of text.
PlainResponse plain_text(int status, std::string body);
// The path is there, and takes these methods, named as their header names them.
PlainResponse not_allowed(std::string allow, PlainResponse answer);

class PlainServer {
 public:
  // To be called once; a client that is gone by then hears nothing.
  using Answer = std::function<void(PlainResponse)>;
  using Handler = std::function<void(const PlainRequest&, Answer)>;

  PlainServer(net::Loop& loop, Handler handler);
  ~PlainServer();
  PlainServer(const PlainServer&) = delete;
  PlainServer& operator=(const PlainServer&) = delete;

  Status<net::ListenFailure> listen(const std::string& address);
  const std::string& address() const { return listener_->address(); }
  bool is_loopback() const { return listener_->is_loopback(); }

 private:
  class Connection;
  void accept(std::unique_ptr<net::ByteStream> stream);
  bool make_room();
  void answer(uint64_t id, const PlainResponse& response);
  void drop(uint64_t id);

  net::Loop& loop_;
  Handler handler_;
  std::unique_ptr<net::Listener> listener_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;  // in the order in which they came
  uint64_t next_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::admin

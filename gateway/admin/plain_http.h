// A small HTTP/1.1 server for people and probes: one request for each connection, answered now or later, then
// the connection is closed; an answer may also go on for as long as its reader wants (PlainStream). Not for
// MCP; nothing of clients passes through it.
//
// Owned by a server of this module. Bounded: connections, head, body, and the time a request may take to
// arrive.
#pragma once

#include <chrono>
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
  std::string peer;             // "127.0.0.1:51234", or "unix"
  std::optional<uint32_t> uid;  // of the process at the other end of a Unix socket

  // The value of a query parameter, decoded; nothing when it is not there, empty when it has none.
  std::optional<std::string> parameter(std::string_view name) const;
};

// Where an answer goes that has no end of its own. Never calls back.
class PlainSink {
 public:
  virtual void write(std::string bytes) = 0;
  // What its reader has not taken yet, in the kernel's buffers not counted.
  virtual size_t backlog() const = 0;
  // Its reader's machine has acknowledged nothing for nine times `quiet` (net/peer_silence.h).
  virtual bool reader_is_silent(std::chrono::milliseconds quiet) = 0;
  // Nothing more comes; what was written still goes out.
  virtual void end() = 0;

 protected:
  ~PlainSink() = default;
};

// Who writes such an answer. Destroyed when its reader has gone, or after end().
class PlainStream {
 public:
  virtual ~PlainStream() = default;
  // The head is out. `to` lives until this is destroyed. Called once.
  virtual void begin(PlainSink& to) = 0;
  // The kernel has taken all that was written.
  virtual void drained() = 0;
};

struct PlainResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<http::OutHeader> headers;
  std::shared_ptr<PlainStream> stream = {};  // in place of a body
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
  void accept(std::unique_ptr<net::ByteStream> stream, std::string peer);
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

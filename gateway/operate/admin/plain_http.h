// A small HTTP/1.1 server for operators and probes: one request per connection, answered now or later, then
// the connection is closed. An answer may also be an endless stream (OpsStream). Not for MCP traffic.
//
// Owned by a server of this module. Bounded: connections, head, body, and the time for a request to arrive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/net/byte_stream.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/listener.h"
#include "foundation/net/loop.h"
#include "protocol/http/request_parser.h"
#include "protocol/http/writer.h"

namespace lineward::admin {

struct PlainRequest {
  const http::RequestHead& head;
  std::string path;   // without query, undecoded
  std::string query;  // without '?'
  std::string body;
  std::string peer;             // "127.0.0.1:51234", or "unix"
  std::optional<uint32_t> uid;  // of the peer process of a Unix socket

  // The decoded value of a query parameter; nullopt if it is absent, empty if it has no value.
  std::optional<std::string> parameter(std::string_view name) const;
};

class OpsStream;

struct PlainResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<http::OutHeader> headers;
  std::shared_ptr<OpsStream> stream = {};  // instead of a body
};
// A sentence or a page of text.
PlainResponse plain_text(int status, std::string body);
// The path exists, but allows only these methods; `allow` is the header's value.
PlainResponse not_allowed(std::string allow, PlainResponse answer);

class OpsHttpServer {
 public:
  // A client's connection: its request, its answer, and for an OpsStream its endless output.
  class Connection final : private net::StreamCallbacks {
   public:
    Connection(OpsHttpServer& server, uint64_t id, std::unique_ptr<net::ByteStream> stream, std::string peer);
    ~Connection();
    // Connected before `moment` without a request so far.
    bool is_idle_since(std::chrono::milliseconds moment) const { return !busy_ && since_ <= moment; }
    void respond(const PlainResponse& response);

    // The output of an endless answer. Never calls back.
    void write(std::string bytes) {
      if (stream_) stream_->write(std::move(bytes));
    }
    // Unread bytes, without the kernel's buffers.
    size_t backlog() const { return stream_ ? stream_->backlog() : 0; }
    // The reader's host has acknowledged nothing for nine times `quiet` (foundation/net/peer_silence.h).
    bool reader_is_silent(std::chrono::milliseconds quiet) {
      return stream_ && stream_->peer_is_silent(quiet);
    }
    // Ends the stream; written data is still sent.
    void end();

   private:
    void on_data(std::string_view bytes) override;
    void on_end(int error) override;
    void on_drained() override;
    void handle();

    OpsHttpServer& server_;
    const uint64_t id_;
    const std::string peer_;
    std::unique_ptr<net::ByteStream> stream_;
    http::RequestParser parser_;
    net::Timer timer_;
    const std::chrono::milliseconds since_;
    bool busy_ = false;
    std::shared_ptr<OpsStream> writer_;  // of an endless answer
  };

  // Call it once; the answer is dropped if the client has disconnected.
  using Answer = std::function<void(PlainResponse)>;
  using Handler = std::function<void(const PlainRequest&, Answer)>;

  OpsHttpServer(net::Loop& loop, Handler handler);
  ~OpsHttpServer();
  OpsHttpServer(const OpsHttpServer&) = delete;
  OpsHttpServer& operator=(const OpsHttpServer&) = delete;

  Status<> listen(const std::string& address);
  const std::string& address() const { return listener_->address(); }
  bool is_loopback() const { return listener_->is_loopback(); }

 private:
  void accept(std::unique_ptr<net::ByteStream> stream, std::string peer);
  bool make_room();
  void answer(uint64_t id, const PlainResponse& response);
  void drop(uint64_t id);

  net::Loop& loop_;
  Handler handler_;
  std::unique_ptr<net::Listener> listener_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;  // in order of arrival
  uint64_t next_ = 1;
  net::Lifetime lifetime_;
};

// The writer of such an answer. Destroyed when its reader disconnects, or after end().
class OpsStream {
 public:
  virtual ~OpsStream() = default;
  // The head is sent. `to` lives until this is destroyed. Called once.
  virtual void begin(OpsHttpServer::Connection& to) = 0;
  // The kernel has taken all written data.
  virtual void drained() = 0;
};

}  // namespace lineward::admin

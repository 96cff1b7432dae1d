// Connects a reply to its HTTP connection. It knows whether the connection is open and the answer has ended,
// reports a client that disconnects, and applies back-pressure.
//
// The connection may close first: then `client_left` is called once, never from inside a method of this
// (proxy/core/reply_stream.h), and all later output is discarded. Destroying an unfinished reply cuts its
// connection. A client counts as gone once it was silent for nine times options_.comment_every (its machine
// died without closing the connection).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "foundation/net/loop.h"
#include "protocol/http/writer.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::client {

class ClientConnection;
class ResourceNames;

struct ReplyOptions {
  bool takes_json = true;
  bool takes_events = true;
  int minor_version = 1;
  std::string session_header;                 // Mcp-Session-Id of the response, or empty
  std::function<std::string()> name_session;  // the same, where it is known only when the head is written
  std::vector<http::OutHeader> headers;       // on every head, for any answer
  std::string
      prime_id;  // legacy streams: the event id that makes the stream resumable before its first event
  // For an event stream: a comment is sent this long after the last byte; if `beats_twice`, two of them kEcho
  // apart.
  std::chrono::milliseconds comment_every{5000};
  // The head is sent within this time at the latest; 0: with the first comment.
  std::chrono::milliseconds head_within{0};
  bool beats_twice = false;
  uint64_t max_backlog_bytes = 256 * 1024;
  // The time in which a client must read something while its server is held back.
  std::chrono::milliseconds write_timeout{30000};
  std::shared_ptr<const ResourceNames> resource;  // of the plain sidecar's server
};

class ConnectionReply {
 public:
  using ClientLeft = std::function<void(mcp::EndReason why)>;

  ConnectionReply(const ConnectionReply&) = delete;
  ConnectionReply& operator=(const ConnectionReply&) = delete;

  void on_client_left(ClientLeft client_left) { client_left_ = std::move(client_left); }
  // The end need not be reported any more.
  void forget() { client_left_ = nullptr; }
  // Called by the connection: the kernel has taken all pending output.
  void drained();
  // Called by the connection: it is closed.
  void client_left(mcp::EndReason why);

 protected:
  ConnectionReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options,
                  ClientLeft client_left);
  ~ConnectionReply();
  // No byte was written for options_.comment_every, or no head for options_.head_within; `again`: the second
  // comment of a beat. Called while the connection is open and the answer has not ended.
  enum class Beat : bool { first, again };
  virtual void on_beat(Beat) {}

  bool connected() const { return connection_ != nullptr; }
  bool may_answer() const { return connection_ != nullptr && !head_sent_; }
  // Begins the answer's head. The caller sets its headers.
  http::ResponseHead begin_head(int status, std::string_view content_type);
  void write(std::string bytes);
  // The end of the answer was written.
  void done();
  // The answer stays without an end: the connection is cut.
  void cut_connection();
  // Releases the connection for another answer; nothing was written yet.
  void leave_connection();
  // Above the high watermark: the sender should pause. `drained` is called once nothing is pending.
  bool has_backlog();
  void await_drain(std::function<void()> drained);

  net::Loop& loop_;
  ClientConnection* connection_;
  ReplyOptions options_;
  bool head_sent_ = false;
  bool finished_ = false;
  uint64_t bytes_out_ = 0;

 private:
  void beat_in(std::chrono::milliseconds time);
  void beat();
  void watch_stall();

  ClientLeft client_left_;
  net::Timer beat_;
  std::chrono::milliseconds wrote_at_;  // last write; initially the creation
  bool echoes_ = false;                 // the next beat is the second of two
  net::Timer stall_;
  std::function<void()> drained_;
  int status_ = 200;         // sent in the head
  bool keep_alive_ = false;  // sent in the head
};

}  // namespace lineward::client

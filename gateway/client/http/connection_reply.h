// What ties a reply to the connection it is written to: whether the connection is there, what was said of the
// answer's end, who is told when the client goes, and how a client that reads slowly holds a server back.
//
// The connection may go first: then `gone` is called once, never from inside a method of this
// (core/reply_stream.h), and all that comes later is swallowed. Destroying an unfinished reply cuts its
// connection. A client whose machine is gone without a word has left, once it was silent for nine times
// options_.comment_every.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/writer.h"
#include "mcp/end_reason.h"
#include "net/loop.h"

namespace lineward::client {

class ClientConnection;
class ResourceNames;

struct ReplyOptions {
  bool takes_json = true;
  bool takes_events = true;
  int minor_version = 1;
  std::string session_header;                 // Mcp-Session-Id of the response, where it has one
  std::function<std::string()> name_session;  // the same, where it is known only when the head is written
  std::vector<http::OutHeader> headers;       // on every head, whatever the answer is
  std::string
      prime_id;  // legacy streams: the event id that makes the stream resumable before its first event
  // Of an event stream: so long after its last byte comes a comment, where it `beats_twice` two, kEcho apart.
  std::chrono::milliseconds comment_every{5000};
  // Its head is out by then, where that is sooner: 0: with the first comment.
  std::chrono::milliseconds head_within{0};
  bool beats_twice = false;
  uint64_t max_backlog_bytes = 256 * 1024;
  // A client for which a server is held back has this long to take something.
  std::chrono::milliseconds write_timeout{30000};
  std::shared_ptr<const ResourceNames> resource;  // of the plain sidecar's server
};

class ConnectionReply {
 public:
  using Gone = std::function<void(mcp::EndReason why)>;

  ConnectionReply(const ConnectionReply&) = delete;
  ConnectionReply& operator=(const ConnectionReply&) = delete;

  void on_gone(Gone gone) { gone_ = std::move(gone); }
  // Nobody wants to hear of its end any more.
  void forget() { gone_ = nullptr; }
  // From the connection: all that waited went to the kernel.
  void drained();
  // From the connection: it is gone.
  void connection_lost(mcp::EndReason why);

 protected:
  ConnectionReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options, Gone gone);
  ~ConnectionReply();
  // Nothing was written for options_.comment_every, no head for options_.head_within; `again`: the second of
  // a beat. Comes while there is a connection and the answer's end is not said.
  enum class Beat : bool { first, again };
  virtual void on_beat(Beat) {}

  bool connected() const { return connection_ != nullptr; }
  bool may_answer() const { return connection_ != nullptr && !head_sent_; }
  // Of the answer that begins now. Its headers are for the caller to set.
  http::ResponseHead begin_head(int status, std::string_view content_type);
  void write(std::string bytes);
  // The answer's end was written.
  void done();
  // There is to be no end: the connection is cut.
  void cut_connection();
  // Leaves the connection to another answer; nothing was said yet.
  void leave_connection();
  // So much waits that who can should hold back; `drained` is called once nothing waits.
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

  Gone gone_;
  net::Timer beat_;
  std::chrono::milliseconds wrote_at_;  // when something was written last; at first, when it was made
  bool echoes_ = false;                 // the next beat is the second of two
  net::Timer stall_;
  std::function<void()> drained_;
  int status_ = 200;         // what the head said
  bool keep_alive_ = false;  // what the head promised
};

}  // namespace lineward::client

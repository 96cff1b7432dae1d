// One HTTP response as a reply stream: a JSON body when the answer comes first, server-sent events from the
// first message or keep-alive tick on (2026-07-28 streamable HTTP, "Receiving Messages").
//
// Owned by an exchange (POST) or a session (GET). The connection may go first: then `gone` is called once,
// never from inside a method of this (core/reply_stream.h), and all that comes later is swallowed. Destroying
// an unfinished reply cuts its connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/pooled.h"
#include "core/exchange_door.h"
#include "core/reply_stream.h"
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
  std::chrono::milliseconds comment_every{15000};
  uint64_t max_backlog_bytes = 256 * 1024;
  // A client for which a server is held back has this long to take something.
  std::chrono::milliseconds write_timeout{30000};
  std::shared_ptr<const ResourceNames> resource;  // of the plain sidecar's server
};

class HttpReply final : public core::ReplyStream, public Pooled<HttpReply> {
 public:
  using Gone = std::function<void(mcp::EndReason why)>;

  HttpReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options, Gone gone);
  ~HttpReply() override;
  HttpReply(const HttpReply&) = delete;
  HttpReply& operator=(const HttpReply&) = delete;

  void send(std::string message) override;
  void finish(std::string message, int status) override;
  void finish_empty() override;
  void cut() override;
  bool clogged() override;
  void when_relieved(std::function<void()> relieved) override;
  bool can_send() const override {
    return connection_ != nullptr && options_.takes_events && !finished_ && !lost_;
  }
  std::optional<mcp::EndReason> lost() const override { return lost_; }
  uint64_t bytes_out() const override { return bytes_out_; }
  void add_headers(const core::HeaderFields& fields) override;

  // The same with an event id (legacy streams can be resumed).
  void send_event(std::string message, std::string_view event_id);
  void finish_event(std::string message, int status, std::string_view event_id);
  // Starts the event stream now (GET streams).
  void open_stream();
  // A stream that begins with a named event (HTTP+SSE).
  void announce(std::string_view event, std::string_view data);
  bool primed() const { return primed_; }
  // An event was sent on it; where none was, what was answered, if anything, was plain JSON.
  bool streamed() const { return streamed_; }
  // The session it would have announced never came to be.
  void refuse_session() override {
    options_.session_header.clear();
    options_.name_session = nullptr;
  }
  // Takes what an answer of Lineward's says besides: headers that were added, and for pages of other origins.
  std::vector<http::OutHeader> own_headers();
  // A response of another replica as it came, with no header but those (http_reply_pass.cc): whole, or its
  // head, its body in pieces, and its end.
  void pass_whole(int status, std::vector<http::OutHeader> headers, std::string_view type,
                  const std::string& body);
  void pass_head(int status, std::vector<http::OutHeader> headers, std::string_view type);
  void pass_piece(std::string_view bytes);
  void pass_end();
  // Nothing was said yet: its connection waits for another answer, and this one says nothing more. False:
  // the connection is gone, or something was said.
  bool release();
  // Nobody wants to hear of its end any more.
  void forget() { gone_ = nullptr; }
  // From the connection: all that waited went to the kernel.
  void drained();
  void on_gone(Gone gone) { gone_ = std::move(gone); }
  // The exchange that it answers, for whoever is told that it is gone.
  core::ExchangeId exchange() const { return exchange_; }
  void set_exchange(core::ExchangeId id) { exchange_ = id; }
  // From the connection: it is gone.
  void connection_lost(mcp::EndReason why);

 private:
  void start_events();
  void add_session(std::vector<http::OutHeader>& headers);
  http::ResponseHead passed_head(int status, std::vector<http::OutHeader> headers, std::string_view type);
  void write(std::string bytes, bool last = false);
  void piece(const std::string& event);
  void tick();
  void open_with_tick();
  void done();
  bool too_slow();
  // Its connection is cut after what runs now.
  void give_up(mcp::EndReason why);
  void watch_stall();

  net::Loop& loop_;
  net::Timer timer_;
  ClientConnection* connection_;
  ReplyOptions options_;
  Gone gone_;
  core::HeaderFields extra_;  // on a plain answer's head
  net::Timer stall_;
  std::function<void()> relieved_;
  std::optional<mcp::EndReason> lost_;  // given up, and why
  net::Deferred cut_later_;
  bool head_sent_ = false;
  int status_ = 200;         // what the head said
  bool keep_alive_ = false;  // what the head promised
  bool finished_ = false;
  bool primed_ = false;
  bool streamed_ = false;
  bool quiet_ = true;  // nothing was written since the last tick
  uint64_t bytes_out_ = 0;
  uint64_t written_ = 0;  // bytes handed to the connection
  uint64_t sent_ = 0;     // of those, what the kernel had when we last looked
  std::chrono::milliseconds sent_at_{0};
  std::vector<uint64_t> boundaries_;  // where each message ends, counted as written_
  size_t passed_ = 0;                 // so many of them are behind sent_
  core::ExchangeId exchange_;
};

}  // namespace lineward::client

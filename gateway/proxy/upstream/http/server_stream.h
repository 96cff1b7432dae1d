// The event stream of a session with a legacy HTTP server.
//
// Over Streamable HTTP it is the GET stream, for messages outside of calls (2025-03-26 … 2025-11-25
// transports, "Listening for Messages from the Server"). Opens it, resumes it after a break, and reopens it
// after pauses. A server may offer none; if too many are open already (StreamLimiter), the session waits for
// its turn. Without the stream the session gets messages only on its calls' streams.
//
// Over HTTP+SSE (2024-11-05 transports, "HTTP with SSE") it opens first, names the endpoint for POSTs and
// carries all messages of the server. The session ends with it.
//
// Servers allow one such stream per session. If other replicas serve the session too (docs/replicas.md), a
// replica has one only while the session's client has its own there.
//
// Owned by an HttpSession, which is its owner.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "config/config.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/http_client/stream_limiter.h"
#include "proxy/upstream/shared/standing_listen.h"

namespace lineward::upstream {

class HttpCall;

enum class StreamNews : uint8_t {
  settled,  // it is open, or is not awaited any more
  // A new stream replaced one that ended, without an event id to resume from: notifications in between are
  // lost. Reported once per loss, and rate-limited.
  missed,
  sse_connected,  // the endpoint of HTTP+SSE is known
  sse_ended       // and its open stream has ended
};

class ServerStreamCallbacks {
 public:
  // Headers of the next request of this session.
  virtual Headers headers(HttpVerb verb) const = 0;
  virtual void take_cookies(const http::ResponseInfo& info) = 0;
  virtual bool is_ready() const = 0;
  // The session is ready, the server has accepted that, and the transport has such a stream.
  virtual bool may_stream() const = 0;
  // Whether this end means that the server does not know the session any more; if so, handles it.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // A message of the server. `call` is null: outside all calls' streams.
  virtual void hear(mcp::Message message, HttpCall* call) = 0;
  virtual void refuse_malformed(const mcp::MessageFault& fault) = 0;
  virtual void on_stream_news(StreamNews news) = 0;
  // HTTP+SSE gets no endpoint: see `fault`.
  virtual void on_sse_failed(const MessagesEnd& end) = 0;

 protected:
  ~ServerStreamCallbacks() = default;
};

class ServerStream final : public MessagesCallbacks {
 public:
  ServerStream(HttpPool& pool, const config::Server& server, ServerStreamCallbacks& owner);
  ~ServerStream();
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  // The server has accepted that the session is initialised: opens the stream; for a shared session only if
  // it is wanted.
  void start();
  // The stream was requested and is not open yet: notifications of the server would be lost meanwhile.
  bool is_pending() const { return pending_; }
  // The server offers a stream, even if the stream is being reopened.
  bool is_offered() const { return was_open_ && (messages_ != nullptr || timer_.running()); }
  // The session is over.
  void close();

  // Opens the stream of HTTP+SSE, within timeouts.startup. Never calls back before it returns.
  void connect_sse();
  // The target of POSTs; empty until known, and for Streamable HTTP.
  const std::string& endpoint() const { return endpoint_; }

  // Other replicas serve the session too; or none does any more.
  void share() { shared_ = true; }
  void unshare() { shared_ = false; }
  bool is_shared() const { return shared_; }
  // For a shared session: its client opened a stream here; or closed it.
  void want();
  void let_go();

 private:
  void on_messages_open(HttpMessages& from, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override {
    owner_.refuse_malformed(fault);
  }
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override {
    owner_.refuse_malformed(fault);
  }
  void on_other_event(HttpMessages& from, const http::SseEvent& event) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void sse_ended(const MessagesEnd& end);
  void fail_sse(mcp::EndReason reason, std::string text);
  void fail_sse(const MessagesEnd& end);
  std::unique_ptr<HttpMessages> get(std::string_view last_event_id = {});
  void open();
  void ask();
  void reopen(std::chrono::milliseconds after);
  void settle();
  void close_messages();
  void shared_ended(const MessagesEnd& end);
  void note_gap();
  void tell_gap();
  Backoff::Range pauses(std::chrono::milliseconds first) const;

  net::Loop& loop_;
  HttpPool& pool_;
  const config::Server& server_;
  ServerStreamCallbacks& owner_;
  StreamPlace place_;
  std::unique_ptr<HttpMessages> messages_;
  bool is_sse_ = false;
  bool connecting_ = false;
  std::string endpoint_;
  bool pending_ = false;
  bool was_open_ = false;
  bool shared_ = false;
  bool wanted_ = false;  // for a shared session
  std::string last_event_id_;
  std::chrono::milliseconds retry_{1000};
  StandingListen<> stream_;
  net::Timer timer_;       // until it is not awaited any more, or is reopened, or connected
  net::Timer good_timer_;  // until it has stood long enough
  std::chrono::milliseconds gap_pause_{0};
  std::chrono::milliseconds next_gap_{0};  // not reported before
  net::Timer gap_timer_;
};

}  // namespace lineward::upstream

// One session with a legacy HTTP server (2025-03-26 … 2025-11-25 transports, "Session Management"): the
// handshake, the id that the server gave it, the GET stream on which the server speaks by itself, and its
// end. Servers without sessions have one too, with no id.
//
// Over HTTP+SSE (2024-11-05 transports) the session is the GET stream: it comes first and names the endpoint
// for POSTs, all answers come on it, and its end is the session's. That half is in http_session_sse.cc.
//
// Owned by a group of an HttpUpstream, which is its owner; freed at the end of the turn. Calls belong to
// others.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/kept_text.h"
#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "net/lifetime.h"
#include "upstream/http_call.h"
#include "upstream/http_errand.h"
#include "upstream/http_headers.h"
#include "upstream/legacy_listens.h"

namespace lineward::upstream {

class HttpSession;

class SessionOwner {
 public:
  virtual int64_t next_id() = 0;
  // What the end of a request that failed means for those who wait.
  virtual core::Failure failure_of(const MessagesEnd& end) = 0;
  virtual void on_session_ready(HttpSession& session) = 0;
  // Lineward's own handshake, or the connection that a client's own would need, came to nothing.
  virtual void on_session_failed(HttpSession& session, const core::Failure& failure) = 0;
  // The server knows this session no more.
  virtual void on_session_lost(HttpSession& session) = 0;
  // It speaks HTTP+SSE: so will all that follow.
  virtual void on_session_speaks_sse() = 0;
  // It may take calls that it did not take before.
  virtual void on_session_free(HttpSession& session) = 0;
  // A server's request, or a notification that names no call. `call`: on whose stream it came; null: the GET
  // stream.
  virtual void on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) = 0;
  // A response, or progress, that came on another stream than its call's.
  virtual void on_session_stray(HttpSession& session, mcp::Message message) = 0;

 protected:
  ~SessionOwner() = default;
};

class HttpSession final : public ListenServer, public MessagesOwner {
 public:
  enum class State : uint8_t { connecting, fresh, opening, ready, lost };

  // `sse`: it is known to speak HTTP+SSE.
  HttpSession(HttpPool& pool, HttpErrands& errands, const config::Server& server, SessionOwner& owner,
              std::string group, bool sse);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const std::string& group() const { return group_; }
  State state() const { return state_; }
  bool is_ready() const override { return state_ == State::ready; }
  // The server could have forgotten it.
  bool has_id() const { return !id_.empty() || sse_; }
  const std::string& initialize_result() const { return initialize_result_.text(); }
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }

  // HTTP+SSE from here on: opens the stream; fresh when it is there.
  void connect();
  bool over_sse() const { return sse_; }
  // Other replicas may serve it too: its end here is not its end, and it has a GET stream only while one is
  // wanted (http_session_shared.cc).
  void be_shared(bool shared) { shared_ = shared; }
  const std::string& id() const { return id_; }
  // One that another replica shared.
  void adopt(std::string id, std::string revision);
  void want_stream(bool wanted);
  void when_settled(std::function<void()> done);
  // Lineward's own handshake, with these parameters. A server that refuses it as one that knows no Streamable
  // HTTP may do (400, 404, 405) is tried over HTTP+SSE, if `automatic`.
  void initialize(std::string_view params, bool automatic);
  // What the server asks as soon as it is initialised belongs to no call: it gets none that it may ask about
  // before it has answered a ping.
  void settle_first() { settles_first_ = true; }
  // The same between two calls that it may ask about, where all it says comes on one stream.
  void settle_turn();
  // The client's own: its request is on its way, its response has begun, it was answered.
  void opening() { state_ = State::opening; }
  void opened(const http::ResponseInfo& info);
  void initialized(const mcp::Message& answer);

  // Is there a stream, or will there be none?
  bool stream_stands() const { return !settling_ && !stream_pending_; }
  // May this call be sent now?
  bool takes(const HttpCall& call) const;
  // `forwarded`: what the client wants on every request, from its last call.
  Headers headers(HttpVerb verb) const;
  void remember(Headers forwarded) { forwarded_ = std::move(forwarded); }
  // A POST of this session, to where it wants them.
  HttpRequest request(std::string body) const;

  void send_own(std::string_view method, std::string_view params, OwnAnswer answered) override;
  // A modern call's log level: a legacy server has one for all, the lowest that anyone wanted.
  void want_level(const mcp::Message& request);
  // A notification or an answer. `drained`: it is on its way, or never will be.
  void post(std::string message, std::function<void()> drained = nullptr);
  // notifications/initialized; then the GET stream is opened.
  void send_initialized(std::string message);
  // What came on the stream of a call.
  void from_call(HttpCall& call, mcp::Message message);
  // The server's request that is none.
  void refuse_malformed(const mcp::MessageFault& fault);
  // The server said that it does not know us.
  void lost();
  // Over: tells the server.
  void end();

 private:
  void on_messages_open(HttpMessages&, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override {
    refuse_malformed(fault);
  }
  void on_other_event(HttpMessages& from, const http::SseEvent& event) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void open_stream();
  void stream_settled();
  void reopen_stream(std::chrono::milliseconds after);
  void shared_stream_ended(const MessagesEnd& end);
  void handle(mcp::Message message, HttpCall* call);
  void send_initialize();
  void handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  bool check_lost(const MessagesEnd& end);
  using Answered = std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)>;
  // A request of Lineward's own, with the limit of own_limits.h.
  void ask(std::string_view method, std::string_view params, Answered answered);
  // `late`: the limit has run out, and the server may know of it.
  void ask(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered,
           std::function<void()> late = nullptr);
  // Over HTTP+SSE.
  void ask_over_sse(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered,
                    std::function<void()> late);
  void stop_asking();
  void settled_one(uint32_t turn);
  void turn_settled();
  void asked_over_sse(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& end);
  bool own_answer(mcp::Message& message);
  void connected(std::string target);
  void not_connected(const HttpFault& fault);
  void sse_stream_ended(const MessagesEnd& end);
  core::Failure failure_of(const std::optional<mcp::Message>& answer, const MessagesEnd& end) const;

  net::Loop& loop_;
  HttpPool& pool_;
  HttpErrands& errands_;
  const config::Server& server_;
  SessionOwner& owner_;
  std::string group_;
  State state_ = State::fresh;
  std::string id_;
  KeptText initialize_result_;
  mcp::LegacyServer legacy_server_;
  HeldBytes legacy_server_bytes_;
  Headers forwarded_;
  int level_ = 8;  // the lowest log level asked for; 8: none yet
  bool initialized_sent_ = false;
  bool settling_ = false;  // notifications/initialized is not accepted yet
  std::unique_ptr<HttpMessages> stream_;
  bool stream_pending_ = false;  // asked for, not there yet
  bool stream_was_open_ = false;
  std::string last_event_id_;
  std::chrono::milliseconds retry_{1000};
  std::chrono::milliseconds backoff_{0};
  net::Timer stream_timer_;
  std::string own_params_;  // of Lineward's own handshake; empty: the client's own
  bool may_fall_back_ = false;
  bool settles_first_ = false;
  bool level_pending_ = false;  // set and not confirmed yet
  bool pinged_ = false;         // and has not answered yet
  bool answers_pings_ = true;
  uint32_t awaited_ = 0;  // answers that a call waits for with the ping's, and that itself
  uint32_t turn_ = 0;
  net::Timer level_timer_, ping_timer_;  // until those who wait for these go on without
  bool shared_ = false;
  bool stream_wanted_ = false;  // of a shared one
  std::function<void()> settled_told_;
  bool sse_;
  std::string endpoint_;                      // HTTP+SSE: the target of POSTs
  std::optional<core::Failure> was_refused_;  // over Streamable HTTP, before HTTP+SSE was tried
  struct Asked {
    Answered answered;
    std::unique_ptr<net::Timer> limit;
  };
  std::map<int64_t, Asked> asked_;  // own requests whose answers come on the one stream
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

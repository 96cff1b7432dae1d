// One session with a legacy HTTP server (2025-03-26 … 2025-11-25 transports, "Session Management"): the
// handshake, the id that the server gave it, the GET stream on which the server speaks by itself, and its
// end. Servers without sessions have one too, with no id.
//
// Owned by a group of an HttpUpstream, which is its owner; freed at the end of the turn. Calls belong to
// others.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "upstream/http_call.h"
#include "upstream/http_errand.h"
#include "upstream/http_headers.h"
#include "upstream/http_listens.h"

namespace lineward::upstream {

class SessionOwner {
 public:
  virtual int64_t next_id() = 0;
  virtual void on_session_ready(HttpSession& session) = 0;
  // Lineward's own handshake came to nothing.
  virtual void on_session_failed(HttpSession& session, const core::Failure& failure) = 0;
  // The server knows this session no more.
  virtual void on_session_lost(HttpSession& session) = 0;
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
  enum class State : uint8_t { fresh, opening, ready, lost };

  HttpSession(HttpPool& pool, HttpErrands& errands, const config::Server& server, SessionOwner& owner,
              std::string group);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const std::string& group() const { return group_; }
  State state() const { return state_; }
  bool has_id() const { return !id_.empty(); }
  const std::string& initialize_result() const { return initialize_result_; }
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }

  // Lineward's own handshake, with these parameters.
  void initialize(std::string_view params);
  // The client's own: its request is on its way, its response has begun, it was answered.
  void opening() { state_ = State::opening; }
  void opened(const http::ResponseInfo& info);
  void initialized(const mcp::Message& answer);

  // May this call be sent now?
  bool takes(const HttpCall& call) const;
  // `forwarded`: what the client wants on every request, from its last call.
  Headers headers(HttpVerb verb) const;
  void remember(Headers forwarded) { forwarded_ = std::move(forwarded); }

  void send_own(std::string_view method, std::string_view params, OwnAnswer answered) override;
  // A modern call's log level: a legacy server has one for all, the lowest that anyone wanted.
  void want_level(const mcp::Message& request);
  // A notification or an answer. `drained`: it is on its way, or never will be.
  void post(std::string message, std::function<void()> drained = nullptr);
  // notifications/initialized; then the GET stream is opened.
  void send_initialized(std::string message);
  // What came on the stream of a call.
  void from_call(HttpCall& call, mcp::Message message);
  // The server said that it does not know us.
  void lost();
  // Over: tells the server.
  void end();

 private:
  void on_messages_open(HttpMessages&, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message message) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void open_stream();
  void stream_settled();
  void reopen_stream(std::chrono::milliseconds after);
  void handle(mcp::Message message, HttpCall* call);
  void handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  bool check_lost(const MessagesEnd& end);

  net::Loop& loop_;
  HttpPool& pool_;
  HttpErrands& errands_;
  const config::Server& server_;
  SessionOwner& owner_;
  std::string group_;
  State state_ = State::fresh;
  std::string id_;
  std::string initialize_result_;
  mcp::LegacyServer legacy_server_;
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
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lineward::upstream

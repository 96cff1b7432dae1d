// A session with a legacy HTTP server (2025-03-26 … 2025-11-25 transports, "Session Management"): the
// handshake, the server's session id, and its end. Servers without sessions have one too, without an id. Its
// parts: the GET stream, Lineward's own requests, and the waits of calls.
//
// Over HTTP+SSE (2024-11-05 transports) the session is its stream. The stream opens first, names the endpoint
// for POSTs and carries all answers. The session ends with it.
//
// Owned by a group of an HttpUpstream, which is its owner; freed at the end of the turn. Calls have other
// owners.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "foundation/base/counted_string.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/http_call.h"
#include "proxy/upstream/http/http_sub_request.h"
#include "proxy/upstream/http/server_stream.h"
#include "proxy/upstream/http/session_check.h"
#include "proxy/upstream/http/session_credentials.h"
#include "proxy/upstream/http/session_requests.h"
#include "proxy/upstream/http/session_waits.h"
#include "proxy/upstream/http/sse_transport.h"
#include "proxy/upstream/shared/legacy_listens.h"

namespace lineward::upstream {

class HttpSession;

class SessionCallbacks {
 public:
  virtual int64_t next_id() = 0;
  // The failure for waiting calls when a request failed.
  virtual core::Failure failure_of(const MessagesEnd& end) = 0;
  virtual void on_session_ready(HttpSession& session) = 0;
  // The server has refused `initialize` and then accepted it with this revision.
  virtual void on_session_revision(std::string_view revision) = 0;
  // Lineward's own handshake failed, or the connection for a client's own.
  virtual void on_session_failed(HttpSession& session, const core::Failure& failure) = 0;
  // An invalid message that may have been meant as the answer to a call.
  virtual void on_session_broken(HttpSession& session, const mcp::MessageFault& fault) = 0;
  // The result of a ping that checks whether the server still knows the session.
  virtual void on_session_checked(HttpSession& session, SessionCheck::Verdict verdict) = 0;
  // The server does not know this session any more.
  virtual void on_session_lost(HttpSession& session) = 0;
  // The server speaks HTTP+SSE: later sessions will too.
  virtual void on_session_speaks_sse() = 0;
  // It may accept calls that it did not accept before.
  virtual void on_session_free(HttpSession& session) = 0;
  // Notifications of the server while it had no stream are lost.
  virtual void on_session_missed(HttpSession& session) = 0;
  // A server's request, or a notification that names no call. `call`: it arrived on this call's stream; null:
  // on the GET stream.
  virtual void on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) = 0;
  // A response, or progress, that arrived outside its call's stream.
  virtual void on_session_stray(HttpSession& session, mcp::Message message) = 0;

 protected:
  ~SessionCallbacks() = default;
};

class HttpSession final : public ListenServer,
                          public ServerStreamCallbacks,
                          public SseTransportCallbacks,
                          public SessionRequestsCallbacks,
                          public SessionWaitsCallbacks {
 public:
  enum class State : uint8_t { connecting, fresh, opening, ready, lost };
  enum class Transport : uint8_t { streamable_http, http_sse };
  // How to treat a refused handshake that may mean a server without Streamable HTTP (400, 404, 405).
  enum class IfRefused : uint8_t { fail, try_http_sse };

  // `transport`: known or assumed.
  HttpSession(HttpPool& pool, HttpSubRequests& sub_requests, const config::Server& server,
              SessionCallbacks& owner, std::string group, Transport transport);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const std::string& group() const { return group_; }
  State state() const { return state_; }
  bool is_ready() const override { return state_ == State::ready; }
  // The server could forget the session.
  bool has_id() const { return !credentials_.id().empty() || over_sse(); }
  SessionCredentials& credentials() override { return credentials_; }
  const std::string& initialize_result() const { return initialize_result_.text(); }
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }
  bool over_sse() const override { return transport_ == Transport::http_sse; }

  // Switches to HTTP+SSE: opens the stream; `fresh` when it is open.
  void connect();
  // Sends Lineward's own handshake with these parameters.
  void initialize(std::string_view params, IfRefused if_refused);
  // A client's own handshake: its request is sent with these headers, its response has begun, its answer
  // arrived.
  void opening(const Headers& forwarded);
  void opened(const http::ResponseInfo& info);
  void initialized(const mcp::Message& answer);
  // Sends notifications/initialized, then opens the GET stream.
  void send_initialized(std::string message);
  // Adopts a session that another replica shared.
  void adopt(std::string id, std::string revision);
  // `done` is called when the server has accepted notifications/initialized, or if it was not sent yet.
  void when_settled(std::function<void()> done);

  // The GET stream. Its end does not end a shared session.
  ServerStream& stream() { return stream_; }
  // The stream is open, or there will be none.
  bool stream_stands() const { return !settling_ && !stream_.is_pending(); }
  SessionWaits& waits() { return waits_; }
  SessionCheck& check() { return check_; }
  // May this call be sent now?
  bool takes(const HttpCall& call) const;

  Headers headers(HttpVerb verb) const override;
  // `as`: the forwarded headers; null: the stored ones.
  HttpRequest request(std::string body, const Headers* as = nullptr) const override;
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered) override;
  // Posts a notification or an answer. `drained`: it is written, or never will be.
  void post(std::string message, const Headers* as = nullptr, std::function<void()> drained = nullptr);

  // Handles a message of the server. `call`: it arrived on this call's stream; null: on none.
  void hear(mcp::Message message, HttpCall* call) override;
  // Handles an invalid message: a malformed request is refused, and a broken answer ends its call.
  void refuse_malformed(const mcp::MessageFault& fault) override;
  // The server does not know the session.
  void lost();
  // Ends the session and notifies the server.
  void end();

 private:
  int64_t next_id() override { return owner_.next_id(); }
  bool may_stream() const override { return is_ready() && !settling_ && !over_sse(); }
  bool check_lost(const MessagesEnd& end) override;
  void on_stream_news(StreamNews news) override;
  void on_wait_over() override { owner_.on_session_free(*this); }
  void on_sse_connected() override;
  void on_sse_failed(const MessagesEnd& end) override;
  void on_sse_ended() override;
  void handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  void close_streams();
  void settled();

  net::Loop& loop_;
  const config::Server& server_;
  SessionCallbacks& owner_;
  std::string group_;
  SessionCredentials credentials_;
  State state_ = State::fresh;
  Transport transport_;
  CountedString initialize_result_{Held::servers};
  mcp::LegacyServer legacy_server_;
  MemoryCharge legacy_server_bytes_{Held::servers};
  bool initialized_sent_ = false;
  std::string other_revision_;  // the revision of the second attempt
  bool settling_ = false;       // notifications/initialized is not accepted yet
  std::string own_params_;      // of Lineward's own handshake; empty: the client's own
  IfRefused if_refused_ = IfRefused::fail;
  std::optional<core::Failure> was_refused_;  // over Streamable HTTP, before HTTP+SSE was tried
  std::function<void()> settled_told_;
  ServerStream stream_;
  SseTransport sse_;
  SessionRequests requests_;
  SessionWaits waits_;
  SessionCheck check_;
};

}  // namespace lineward::upstream

// A session with a legacy HTTP server (2025-03-26 … 2025-11-25 transports, "Session Management"): the
// handshake, the server's session id, Lineward's own requests, the short waits of calls, and its end. After a
// doubtful answer it checks whether the server still knows the session. Servers without sessions have an
// HttpSession too, without an id. ServerStream is its event stream.
//
// Over HTTP+SSE (2024-11-05 transports) the session is its stream. The stream opens first, names the endpoint
// for POSTs and carries all answers. The session ends with it.
//
// Owned by its SessionGroup; freed at the end of the turn. Its events go to SessionGroups, messages that name
// a call to the HttpCallTable.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/counted_string.h"
#include "foundation/net/lifetime.h"
#include "protocol/http/response_parser.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http/http_call.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/http_sub_request.h"
#include "proxy/upstream/http/origin.h"
#include "proxy/upstream/http/server_stream.h"
#include "proxy/upstream/http_client/cookie_jar.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/shared/legacy_listens.h"

namespace lineward::upstream {

// The credentials of a session: its session id, the headers that the session's client forwards, and the
// cookies of a load balancer. A request with other credentials may carry the session's id: the server's reply
// to it says nothing about the session (behaviour.md 11).
class SessionCredentials {
 public:
  SessionCredentials(const config::Server& server, const HttpUrl& url) : server_(server), url_(url) {}
  SessionCredentials(const SessionCredentials&) = delete;
  SessionCredentials& operator=(const SessionCredentials&) = delete;

  const std::string& id() const { return id_; }
  void set_id(std::string id) { id_ = std::move(id); }
  // The lasting headers of the newest request that the server did not refuse.
  const Headers& forwarded() const { return forwarded_; }
  void remember(Headers forwarded) { forwarded_ = std::move(forwarded); }
  // A request with these headers opens the session.
  void opened_with(const Headers& forwarded) { opened_as_ = identity_of(forwarded); }
  // Whether these are the credentials that opened the session, or those that its server accepted last.
  bool are_of(const Headers& forwarded) const;
  // Takes the cookies of a response in the session.
  void take_cookies(const http::ResponseInfo& info);
  // Several callers share the session object, each with its own state at the server.
  void keep_no_cookies() { keeps_cookies_ = false; }
  // Headers of a request in the session. `forwarded`: the client's headers.
  Headers headers(HttpVerb verb, const Headers& forwarded, const std::string& revision) const;

 private:
  const config::Server& server_;
  const HttpUrl& url_;
  std::string id_;
  Headers forwarded_;
  std::optional<std::string> opened_as_;  // nullopt: opened by another replica
  CookieJar cookies_;
  bool keeps_cookies_ = true;
};

class HttpSession final : public ListenServer, public ServerStreamCallbacks {
 public:
  enum class State : uint8_t { connecting, fresh, opening, ready, lost };
  enum class Transport : uint8_t { streamable_http, http_sse };
  // How to treat a refused handshake that may mean a server without Streamable HTTP (400, 404, 405).
  enum class IfRefused : uint8_t { fail, try_http_sse };
  // The result of a ping that checks whether the server still knows the session.
  enum class Verdict : uint8_t {
    knows,    // it has answered the ping
    unsure,   // no answer, or one that says nothing about the session
    refuses,  // it refuses the ping as unknown or unauthorised
    lost      // it says that there is no such session
  };

  // `group`: its key. `transport`: known or assumed. `origin`: its server.
  HttpSession(const HttpParts& parts, std::string group, Transport transport, Origin& origin);
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  const std::string& group() const { return group_; }
  // The origin at which it was opened. All its requests go there.
  Origin& origin() const { return *origin_.get(); }
  State state() const { return state_; }
  bool is_ready() const override { return state_ == State::ready; }
  // True: there is a session that the server could forget.
  bool has_id() const { return !credentials_.id().empty() || over_sse(); }
  SessionCredentials& credentials() { return credentials_; }
  const std::string& initialize_result() const { return initialize_result_.text(); }
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }
  bool over_sse() const { return transport_ == Transport::http_sse; }

  // ---- the handshake ----

  // Switches to HTTP+SSE: opens the stream; the state is `fresh` when the stream is open.
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

  // ---- calls: they wait for their log level, and between two that allow server requests (behaviour.md 14)
  // ----

  // May this call be sent now?
  bool takes(const HttpCall& call) const;
  // Sets the log level of a call in a shared session: a legacy server has one level for all, the lowest
  // requested.
  void want_level(const core::UpstreamRequest& request);
  // A legacy client's own logging/setLevel was sent.
  void level_is_set(const mcp::Message& set_level) { level_.is_set(set_level); }
  const LowestLogLevel& level() const { return level_; }
  // Requests that the server sends right after `initialize` belong to no call. So calls that allow requests
  // wait until the stream is open and a ping is answered.
  void settle_first() { settles_first_ = true; }
  // The same between two such calls, if all messages come on one stream. Requests outside calls' streams
  // before the ping's answer belong to the earlier call.
  void acquire_turn();

  // ---- messages ----

  Headers headers(HttpVerb verb) const override;
  // A POST in this session. `as`: the forwarded headers; null: the stored ones.
  HttpRequest request(std::string body, const Headers* as = nullptr) const;
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered) override;
  // Posts a notification or an answer. `drained`: it is written, or never will be. `at`: the origin of its
  // call, for a session without an id; null: the session's.
  void post(std::string message, const Headers* as = nullptr, std::function<void()> drained = nullptr,
            Origin* at = nullptr);
  // Handles a message of the server. `call`: it arrived on this call's stream; null: on none.
  void hear(mcp::Message message, HttpCall* call) override;
  // Handles an invalid message: a malformed request is refused, and a broken answer ends its call.
  void refuse_malformed(const mcp::MessageFault& fault) override;

  // ---- whether the server still knows it (behaviour.md 11) ----

  // Whether the refusal of a request with this status may mean that the session is lost.
  static bool is_sign_of_loss(int status);
  // Whether a server's text mentions a session.
  static bool names_session(std::string_view words);
  // After a doubtful answer: sends one ping for all simultaneous doubts. True: a ping is in progress, and its
  // verdict follows, never before this returns. False: one was sent just before. After each ping there is a
  // pause, which grows while no call is answered: a server that refuses everything does not get a ping per
  // call.
  bool doubt();
  // The server has answered a call in the session, or has sent a message by itself.
  void note_answered();
  // It has done so since the session was opened.
  bool was_of_use() const { return was_of_use_; }
  // The server does not know the session.
  void lost();
  // Ends the session and notifies the server.
  void end();

 private:
  using Answered = std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)>;

  // ServerStreamCallbacks
  void take_cookies(const http::ResponseInfo& info) override { credentials_.take_cookies(info); }
  bool may_stream() const override { return is_ready() && !settling_ && !over_sse(); }
  bool check_lost(const MessagesEnd& end) override;
  void on_stream_news(StreamNews news) override;
  void on_sse_failed(const MessagesEnd& end) override;

  void handshake_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  core::Failure refusal_of(const std::optional<mcp::Message>& answer, const MessagesEnd& end) const;
  void settled();

  void level_set();
  // Adds one of Lineward's own requests: returns the turn in which it must be answered, to be passed to
  // leave_turn(); 0: it need not be.
  uint32_t join_turn(std::string_view method);
  void leave_turn(uint32_t turn);
  void turn_settled();

  // Lineward's own requests, with the limit of own_limits.h. Over HTTP+SSE their answers come on the stream;
  // otherwise in the response to the POST, or on the GET stream. A late one is cancelled like a client's.
  // Never calls back before it returns.
  void ask(std::string_view method, std::string_view params, Answered answered);
  void cancel_late(int64_t id);
  SubRequestPlan plan_of(HttpRequest request, std::chrono::milliseconds limit);
  SubRequestPlan plan_of_request(int64_t id, std::string body, std::chrono::milliseconds limit,
                                 Answered answered);
  // `late` (may be empty): the limit has expired, and the server may have received the request.
  void ask_over_sse(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered,
                    std::function<void()> late);
  void end_asked(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& end);
  // Takes the message and returns true if it answers one of these requests.
  bool take_answer(mcp::Message& message);
  void take_broken_answer(const mcp::MessageFault& fault);
  // The last message: sent when earlier posts have arrived and requests are answered, or after a short wait.
  void send_delete();

  void checked(Verdict verdict);
  void close_streams();

  const HttpParts& parts_;
  net::Loop& loop_;
  const config::Server& server_;
  const std::string group_;
  const OriginUse origin_;
  const uint64_t number_;  // of its sub-requests
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

  LowestLogLevel level_;
  bool settles_first_ = false;
  bool level_pending_ = false;  // sent and not confirmed yet
  bool pinged_ = false;         // sent and not answered yet
  bool answers_pings_ = true;
  uint32_t awaited_ = 0;  // pending answers that end the turn, the ping's included
  uint32_t turn_ = 0;
  net::Timer level_timer_{loop_}, turn_timer_{loop_};  // when waiting calls are sent anyway

  struct Asked {
    Answered answered;
    std::unique_ptr<net::Timer> limit;
  };
  std::map<int64_t, Asked> asked_;  // over HTTP+SSE

  net::Timer check_timer_{loop_};
  std::chrono::milliseconds check_pause_{0};
  std::chrono::milliseconds next_check_{0};
  bool checking_ = false;
  bool was_of_use_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

// Lineward's own messages in a session with a legacy HTTP server: requests with a time limit for the answer,
// and messages without an answer. Over HTTP+SSE answers come on the session's single stream; otherwise in the
// response to the POST.
//
// Owned by an HttpSession, which is its owner.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/net/lifetime.h"
#include "proxy/upstream/http/http_sub_request.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

class HttpCall;
class ServerStream;
class SessionCredentials;

class SessionRequestsCallbacks {
 public:
  virtual int64_t next_id() = 0;
  virtual bool is_ready() const = 0;
  virtual bool over_sse() const = 0;
  virtual SessionCredentials& credentials() = 0;
  // A POST of this session, to its endpoint. `as`: the forwarded headers; null: the stored ones.
  virtual HttpRequest request(std::string body, const Headers* as = nullptr) const = 0;
  // Whether this end means that the server does not know the session any more; if so, handles it.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // A message in such a response that does not answer it. `call` is null.
  virtual void hear(mcp::Message message, HttpCall* call) = 0;

 protected:
  ~SessionRequestsCallbacks() = default;
};

class SessionRequests {
 public:
  using Answered = std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)>;
  using Opened = std::function<void(const http::ResponseInfo& info)>;
  using Posted = std::function<void(const MessagesEnd& end)>;

  SessionRequests(net::Loop& loop, HttpSubRequests& sub_requests, const config::Server& server,
                  SessionRequestsCallbacks& owner);
  ~SessionRequests() { lifetime_.end(); }
  SessionRequests(const SessionRequests&) = delete;
  SessionRequests& operator=(const SessionRequests&) = delete;

  // Answers may arrive on this stream of the session instead of in their response.
  void answers_come_on(const ServerStream& stream) { stream_ = &stream; }

  // The following functions never call back before they return.

  // The handshake, within timeouts.startup. `opened`: its response has begun; not over HTTP+SSE.
  void initialize(std::string_view params, Opened opened, Answered answered);
  // Any other request, with the limit of own_limits.h. It is cancelled like a client's when the limit
  // expires.
  void ask(std::string_view method, std::string_view params, Answered answered);
  // A POST of a message without an answer. `its_own`: with the session's credentials, so that a refusal
  // concerns the session. `drained` (may be empty): it is written, or never will be.
  void post(HttpRequest request, bool its_own, std::function<void()> drained);
  // The same for a message with a handler for the end of its POST.
  void post(std::string message, std::chrono::milliseconds limit, Posted posted);

  // A response on the session's stream. True, and it is taken, if it answers one of these.
  bool take_answer(mcp::Message& message);
  // An invalid message on that stream: ends the request that it was meant to answer.
  void broken_answer(const mcp::MessageFault& fault);
  // The last message: sent when earlier posts have arrived and requests are answered, or after a short wait.
  void goodbye(HttpRequest request, std::chrono::milliseconds limit);
  // Drops the requests in progress over HTTP+SSE.
  void forget() { asked_.clear(); }
  // Drops the handlers of all other requests too.
  void stop();

 private:
  Opened takes_cookies();
  SubRequestPlan plan_of(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered);
  // `late` (may be empty): the limit has expired, and the server may have received the request.
  void ask_over_sse(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered,
                    std::function<void()> late);
  void end(int64_t id, std::optional<mcp::Message> answer, const MessagesEnd& end);

  struct Asked {
    Answered answered;
    std::unique_ptr<net::Timer> limit;
  };
  net::Loop& loop_;
  HttpSubRequests& sub_requests_;
  const config::Server& server_;
  SessionRequestsCallbacks& owner_;
  const uint64_t session_;
  const ServerStream* stream_ = nullptr;
  std::map<int64_t, Asked> asked_;  // answered on the session's stream
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

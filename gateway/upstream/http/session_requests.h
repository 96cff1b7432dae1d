// What Lineward itself sends in a session with a legacy HTTP server: requests of its own, whose answers it
// waits for within a limit, and messages that have none. Over HTTP+SSE the answers come on the session's one
// stream; else each is in the response to its POST.
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

#include "http_client/http_headers.h"
#include "net/lifetime.h"
#include "upstream/http/http_sub_request.h"

namespace lineward::upstream {

class HttpCall;
class SessionCredentials;
class ServerStream;

class SessionRequestsOwner {
 public:
  virtual int64_t next_id() = 0;
  virtual bool is_ready() const = 0;
  virtual bool over_sse() const = 0;
  virtual SessionCredentials& credentials() = 0;
  // A POST of this session, to where it wants them. `as`: what is forwarded with it; null: what it remembers.
  virtual HttpRequest request(std::string body, const Headers* as = nullptr) const = 0;
  // Whether this end says that the server knows the session no more; sees to it then.
  virtual bool check_lost(const MessagesEnd& end) = 0;
  // What came in such a response, and is no answer to it. `call` is null.
  virtual void hear(mcp::Message message, HttpCall* call) = 0;

 protected:
  ~SessionRequestsOwner() = default;
};

class SessionRequests {
 public:
  using Answered = std::function<void(std::optional<mcp::Message> answer, const MessagesEnd& end)>;
  using Opened = std::function<void(const http::ResponseInfo& info)>;
  using Posted = std::function<void(const MessagesEnd& end)>;

  SessionRequests(net::Loop& loop, HttpSubRequests& sub_requests, const config::Server& server,
                  SessionRequestsOwner& owner);
  ~SessionRequests() { lifetime_.end(); }
  SessionRequests(const SessionRequests&) = delete;
  SessionRequests& operator=(const SessionRequests&) = delete;

  // Answers may come on this stream of the session, not on their request's.
  void answers_come_on(const ServerStream& stream) { stream_ = &stream; }

  // None of these calls back from inside.
  // The handshake, within timeouts.startup. `opened`: the response to it has begun; not over HTTP+SSE.
  void initialize(std::string_view params, Opened opened, Answered answered);
  // Another request, with the limit of own_limits.h; it is cancelled like any client's when it takes too
  // long.
  void ask(std::string_view method, std::string_view params, Answered answered);
  // A POST of a message that has no answer. `its_own`: with the credentials of the session, so that a refusal
  // tells of it. `drained` (may be empty): it is on its way, or never will be.
  void post(HttpRequest request, bool its_own, std::function<void()> drained);
  // Such a message, for whom it matters how its POST ended.
  void post(std::string message, std::chrono::milliseconds limit, Posted posted);

  // A response on the session's stream: true, and it is taken, when it answers one of these.
  bool take_answer(mcp::Message& message);
  // What came there and is no message: what it was to be the answer to ends.
  void broken_answer(const mcp::MessageFault& fault);
  // The last of all: it goes out when what was posted has arrived and what was asked has been answered, or a
  // moment later.
  void goodbye(HttpRequest request, std::chrono::milliseconds limit);
  // What is under way over HTTP+SSE is answered by nobody any more.
  void forget() { asked_.clear(); }
  // And nobody hears of anything else that is.
  void stop();

 private:
  Opened takes_cookies();
  SubRequestPlan plan_of(int64_t id, std::string body, std::chrono::milliseconds limit, Answered answered);
  // `late` (may be empty): the limit has run out, and the server may know of it.
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
  SessionRequestsOwner& owner_;
  const uint64_t session_;
  const ServerStream* stream_ = nullptr;
  std::map<int64_t, Asked> asked_;  // whose answers come on the one stream
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

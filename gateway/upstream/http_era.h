// Which era an HTTP server speaks: asks it with `server/discover` when a modern call needs to know, and keeps
// the calls that wait for the verdict (behaviour.md 8).
//
// Owned by an HttpUpstream, which is its owner and outlives it. Calls are plain pointers: each is withdrawn
// before it is freed. A server that cannot be asked leaves no verdict, and the calls that waited fail with
// the reason; what it refuses to one caller alone fails the calls of that one.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/lifetime.h"
#include "upstream/era_probe.h"
#include "upstream/http_call.h"
#include "upstream/http_errand.h"
#include "upstream/http_headers.h"
#include "upstream/http_health.h"

namespace lineward::upstream {

class HttpEraOwner {
 public:
  // An id for a request of Lineward's own.
  virtual int64_t next_id() = 0;
  // What the end of a request that failed means for those who wait.
  virtual core::Failure failure_of(const MessagesEnd& end) = 0;
  // The era is known, and this call waited for it.
  virtual void on_era_known(HttpCall& call) = 0;

 protected:
  ~HttpEraOwner() = default;
};

class HttpEra {
 public:
  // `unreachable`: why the server cannot be asked at all, or empty. Health is told when it has answered.
  HttpEra(net::Loop& loop, const config::Server& server, HttpErrands& errands, HttpHealth& health,
          std::string unreachable, HttpEraOwner& owner);
  HttpEra(const HttpEra&) = delete;
  HttpEra& operator=(const HttpEra&) = delete;

  const Verdict& verdict() const { return verdict_; }
  // What the server is taken for; legacy as long as nobody knows.
  mcp::Era era() const { return verdict_.era; }
  bool is_known() const { return verdict_.known; }
  bool is_modern() const { return verdict_.known && verdict_.era == mcp::Era::modern; }
  // Known, and not so long ago that it has to be asked again.
  bool is_current() const { return verdict_.known && loop_.now() <= expires_; }
  bool is_asking() const { return asking_; }
  // The revisions that clients may speak to it; nothing while its era is unknown.
  std::optional<std::vector<std::string>> versions() const;

  // Asks now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const Verdict&)> ready);
  // Does nothing while it is being asked.
  void ask();
  // It behaves like another server than it was: the next call asks again.
  void forget() { verdict_.known = false; }

  // Until the verdict is there; asks for it at the end of the turn.
  void wait(HttpCall& call);
  void withdraw(HttpCall& call) { std::erase(waiting_, &call); }
  size_t waiting() const { return waiting_.size(); }
  // Asks no more. Those that wait are for the caller to end.
  std::deque<HttpCall*> stop();

 private:
  Headers probe_headers();
  void on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  void decide(Verdict verdict, const core::Failure& failure);
  void fail(std::deque<HttpCall*> waited, const core::Failure& failure);

  net::Loop& loop_;
  const config::Server& server_;
  HttpErrands& errands_;
  HttpHealth& health_;
  const std::string unreachable_;
  HttpEraOwner& owner_;
  Verdict verdict_;
  std::chrono::milliseconds expires_{0};
  std::function<void(const Verdict&)> on_ready_;
  std::deque<HttpCall*> waiting_;
  std::string asked_as_;  // the identity of the request under way
  bool asking_ = false;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

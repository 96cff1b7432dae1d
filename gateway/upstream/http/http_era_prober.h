// Asks an HTTP server for its era with `server/discover`, in the name of the client that has waited longest:
// a server may let nobody else in (behaviour.md 8). What says nothing about MCP decides nothing.
//
// Owned by an HttpUpstream, which is its owner and outlives it. Its health is told when the server has
// answered.
//
// A server that says nothing about MCP (silence, a broken connection, 5xx) is asked `initialize` as well: its
// result shows a legacy server. What the probe gets meanwhile counts first.
#pragma once

#include <string>

#include "http_client/http_headers.h"
#include "net/lifetime.h"
#include "upstream/http/http_health.h"
#include "upstream/http/http_sub_request.h"
#include "upstream/shared/server_era.h"

namespace lineward::upstream {

class HttpEraProberOwner {
 public:
  // An id for a request of Lineward's own.
  virtual int64_t next_id() = 0;
  // What the end of a request that failed means for those who wait.
  virtual core::Failure failure_of(const MessagesEnd& end) = 0;

 protected:
  ~HttpEraProberOwner() = default;
};

class HttpEraProber final : public EraProber {
 public:
  // `unreachable`: why the server cannot be asked at all, or empty.
  HttpEraProber(net::Loop& loop, const config::Server& server, HttpSubRequests& sub_requests,
                HttpHealth& health, std::string unreachable, HttpEraProberOwner& owner);
  HttpEraProber(const HttpEraProber&) = delete;
  HttpEraProber& operator=(const HttpEraProber&) = delete;

  void ask(const core::CallRequest* first, Done done) override;
  bool is_busy() const override { return asking_; }
  // A refusal says something to those alone who came with the same credentials.
  bool concerns(const core::CallRequest& request, const core::Failure& failure) const override;

 private:
  Headers probe_headers(const core::CallRequest* first);
  SubRequestPlan plan_of(std::string body);
  void on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  void try_initialize(std::string params);
  void on_initialize_answer(const std::string& params, const std::optional<mcp::Message>& answer,
                            const MessagesEnd& end);
  void no_evidence(const MessagesEnd& end);
  void end_session(std::string id);
  void decided(EraVerdict verdict, const core::Failure& failure);

  net::Loop& loop_;
  const config::Server& server_;
  HttpSubRequests& sub_requests_;
  HttpHealth& health_;
  const std::string unreachable_;
  HttpEraProberOwner& owner_;
  Done done_;
  Headers asked_with_;    // what was forwarded with it
  std::string asked_as_;  // the identity of the request under way
  bool asking_ = false;
  Headers headers_;                     // of the requests under way
  std::chrono::milliseconds until_{0};  // timeouts.startup is over then
  net::Timer patience_;                 // until `initialize` is tried beside the probe
  std::optional<MessagesEnd> silent_;   // how the probe ended, which said nothing about MCP
  uint64_t round_ = 0;                  // of questions that decide together
  bool tried_ = false;                  // `initialize` was sent
  bool trying_ = false;                 // and is under way
  std::string session_;                 // the id that came with the answer to the probe
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

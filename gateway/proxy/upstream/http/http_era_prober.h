// Detects an HTTP server's era with `server/discover`, with the credentials of the longest waiting client:
// the server may refuse all others (behaviour.md 8). A response that says nothing about MCP decides nothing.
//
// Owned by an HttpUpstream. Reports an answering server to its HttpHealth.
//
// A server that says nothing about MCP (no answer, a broken connection, 5xx) gets `initialize` as well: a
// result proves a legacy server. An answer to the probe meanwhile takes precedence.
#pragma once

#include <memory>
#include <string>

#include "foundation/net/lifetime.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/http_sub_request.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/server_era.h"

namespace lineward::upstream {

class HttpEraProber final : public EraProber {
 public:
  // `unreachable`: why no request can be sent at all, or empty.
  HttpEraProber(const HttpParts& parts, std::string unreachable);
  HttpEraProber(const HttpEraProber&) = delete;
  HttpEraProber& operator=(const HttpEraProber&) = delete;

  void ask(const core::UpstreamRequest* first, Done done) override;
  bool is_busy() const override { return asking_; }
  // A personal refusal concerns only calls with the same credentials.
  bool concerns(const core::UpstreamRequest& request, const core::Failure& failure) const override;

 private:
  Headers probe_headers(const core::UpstreamRequest* first);
  SubRequestPlan plan_of(std::string body);
  void on_answer(std::optional<mcp::Message> answer, const MessagesEnd& end);
  void try_initialize(std::string params);
  void on_initialize_answer(const std::string& params, const std::optional<mcp::Message>& answer,
                            const MessagesEnd& end);
  void no_evidence(const MessagesEnd& end);
  // `at`: the origin that has it.
  void end_session(std::string id, const OriginUse& at);
  void decided(EraVerdict verdict, const core::Failure& failure);

  const HttpParts& parts_;
  net::Loop& loop_;
  const config::Server& server_;
  HttpSubRequests& sub_requests_;
  const std::string unreachable_;
  Done done_;
  Headers asked_with_;    // forwarded headers of the probe
  std::string asked_as_;  // identity of the request in progress
  bool asking_ = false;
  Headers headers_;                     // of the requests in progress
  std::chrono::milliseconds until_{0};  // end of timeouts.startup
  net::Timer patience_;                 // until `initialize` is tried beside the probe
  std::optional<MessagesEnd> silent_;   // how the probe ended without saying anything about MCP
  uint64_t round_ = 0;                  // number of the current probe with its `initialize`
  bool tried_ = false;                  // `initialize` was sent
  bool trying_ = false;                 // and is in progress
  std::string session_;                 // the id in the answer to the probe
  std::shared_ptr<OriginUse> probed_;   // the origin of the probe; null: decided
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

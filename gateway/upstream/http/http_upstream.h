// A server over Streamable HTTP as an upstream: puts its parts together (its era, the groups of callers with
// the session of each, the calls under way), and gives the calls that wait to their sessions.
//
// Groups follow behaviour.md 5 (isolation): a legacy client's session has a session of its own with the
// server, initialised by that client's own `initialize`; modern clients share one on a legacy server by what
// they declare, and need none on a modern one. A modern call is one POST; closing it is its cancel
// (behaviour.md 3).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/document_source.h"
#include "core/upstream.h"
#include "http_client/http_documents.h"
#include "http_client/oauth_client.h"
#include "metrics/stats.h"
#include "net/lifetime.h"
#include "upstream/http/http_failures.h"
#include "upstream/http/http_plain_hop.h"
#include "upstream/http/portable_sessions.h"
#include "upstream/http/session_keeper.h"
#include "upstream/http/sse_fallback.h"
#include "upstream/shared/call_places.h"

namespace lineward::upstream {

class QuestionSlots;

class HttpUpstream final : public core::Upstream,
                           public core::DocumentSource,
                           public SessionGroupsOwner,
                           public HttpEraProberOwner,
                           public ServerEraOwner,
                           public HttpCallTableOwner {
 public:
  // `server.url` and its files were checked when the configuration was loaded; what is wrong with them all
  // the same fails every call.
  HttpUpstream(net::Loop& loop, const config::Server& server);
  ~HttpUpstream() override;

  // Asks for the era now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const EraVerdict&)> ready) { era_->warm_up(std::move(ready)); }

  // Whose credentials go up: where it is its clients' own, what it says of them comes down
  // (config::plain_sidecar).
  void set_credentials(HttpFailures::Credentials whose) { failures_.set_credentials(whose); }
  void fetch_document(const std::string& path, core::DocumentDone done) override;

  const std::string& name() const override { return server_.name; }
  const config::Server& server() const { return server_; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  Result<std::unique_ptr<core::WaitingPlace>, core::Failure> wait_in_front(
      const core::CallRequest& request) override {
    return places_.wait_in_front(request, calls_here());
  }
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override;
  void close_scope(const core::Scope& scope) override;
  core::PortableScopes* portable(const core::Scope& scope) override;
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;
  void notify(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
              const core::HeaderFields& headers) override;
  std::optional<std::vector<std::string>> versions() const override { return era_->versions(); }
  std::optional<mcp::Era> era() const override { return era_->known_era(); }
  core::Tells tells() const override { return era_->verdict().tells; }
  std::optional<bool> keeps_sessions() const override {
    return sse_->speaks_sse() ? true : groups_->keeps_sessions();
  }
  void pass_notification(const mcp::Message& message, const core::HeaderFields& headers) override;
  std::unique_ptr<core::Hop> hop(core::HopRequest request, core::HopListener& listener) override;
  core::UpstreamStatus status() const override;
  void wake() override;
  void reconfigured() override;
  void stop(std::function<void()> done) override;

 private:
  // SessionGroupsOwner
  void close_group(SessionGroup& group, std::string_view why) override;
  // HttpEraProberOwner
  int64_t next_id() override { return ids_.next(); }
  core::Failure failure_of(const MessagesEnd& end) override { return failures_.of(end); }
  // ServerEraOwner
  void on_era_known(TransportCall& call) override;
  // HttpCallTableOwner
  std::optional<core::Failure> enqueue(HttpCall& call) override;

  uint64_t calls_here() const;  // limits.maxInFlight and limits.maxQueue are for them
  void note_hop();
  void schedule_pump() { pump_later_.schedule(); }
  void pump();
  bool pump(SessionGroup& group, size_t most);
  void pump_in_turns(const WaitLine<SessionGroup>& wanting);
  void check_stopped();

  net::Loop& loop_;
  const config::Server& server_;
  core::UpstreamStats& stats_ = core::upstream_stats(server_.name);
  HttpUrl url_;
  std::string broken_;                  // why no call can be made at all
  std::unique_ptr<OauthClient> oauth_;  // where Lineward has credentials of its own; the pool asks it
  std::unique_ptr<HttpPool> pool_;
  HttpFailures failures_{server_};
  std::unique_ptr<HttpSubRequests> sub_requests_;
  net::Deferred pump_later_{loop_, [](void* self) { static_cast<HttpUpstream*>(self)->pump(); }, this};
  std::unique_ptr<SessionGroups> groups_;
  std::unique_ptr<QuestionSlots> slots_;
  std::unique_ptr<PortableSessions> portable_;
  HttpPlainHops plain_hops_;
  std::unique_ptr<HttpDocuments> documents_;
  HttpHealth health_{loop_, server_};
  std::unique_ptr<HttpEraProber> prober_;
  std::unique_ptr<ServerEra> era_;
  std::unique_ptr<SseFallback> sse_;
  std::unique_ptr<HttpCallTable> calls_;
  std::unique_ptr<SessionKeeper> sessions_;
  CallPlaces places_{server_};
  SessionPlanner planner_{server_};
  RequestIds ids_;
  std::function<void()> stopped_;
  net::Timer stop_limit_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

// A server over Streamable HTTP as an upstream: owns its parts (its era, the caller groups with their
// sessions, the calls in progress), and assigns waiting calls to sessions.
//
// Groups follow behaviour.md 5 (isolation). A legacy client's session has a server session of its own,
// initialised by that client's `initialize`. Modern clients share a session on a legacy server by declared
// capabilities, and need none on a modern one. A modern call is one POST; closing it is its cancel
// (behaviour.md 3).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "foundation/net/lifetime.h"
#include "proxy/core/document_source.h"
#include "proxy/core/portable_scopes.h"
#include "proxy/core/upstream.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http/http_call_table.h"
#include "proxy/upstream/http/http_era_prober.h"
#include "proxy/upstream/http/http_health.h"
#include "proxy/upstream/http/http_plain_hop.h"
#include "proxy/upstream/http/origin_checks.h"
#include "proxy/upstream/http/origin_set.h"
#include "proxy/upstream/http/question_slots.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http_client/http_documents.h"
#include "proxy/upstream/http_client/oauth_client.h"
#include "proxy/upstream/shared/call_limiter.h"
#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

class HttpUpstream final : public core::Upstream,
                           public core::PermitSource,
                           public core::HopSource,
                           public core::PortableScopes,
                           public ServerEraCallbacks {
 public:
  // `server.url` and its files were checked when the configuration was loaded; if they are invalid after all,
  // every call fails.
  // `shared`: this worker's part, if all workers serve it.
  HttpUpstream(net::Loop& loop, const config::Server& server, SharedPart shared = {});
  ~HttpUpstream() override;

  // Probes the era now rather than at the first call; `ready` (may be empty) is called once with the verdict.
  void warm_up(std::function<void(const EraVerdict&)> ready) {
    if (server_.start == config::ServerStart::boot) era_.warm_up(std::move(ready));
  }

  // The owner of the forwarded credentials: if they are the client's own, the server's refusals are passed to
  // the client (config::plain_sidecar).
  void set_credentials(HttpFailures::Credentials whose) {
    failures_.set_credentials(whose);
    origins_.set_personal(failures_.are_of_clients());
  }
  void fetch_document(const std::string& path, core::DocumentDone done);

  const config::Server& server() const { return server_; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  Result<std::unique_ptr<core::WaitingPermit>, core::Failure> wait_in_front(
      const core::UpstreamRequest& request) override {
    return places_.wait_in_front(request, calls_here());
  }
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::ServerFacts facts() const override {
    return {era_.known_era(), groups_.keeps_sessions(), era_.verdict().tells};
  }
  // For the other workers, which do not serve it. At most once, before the first call.
  void publish_era(std::shared_ptr<HomeEra> known) { era_.publish_to(std::move(known)); }
  // The server is a Lineward.
  void assume_both_eras() { era_.assume_both(); }
  core::UpstreamStatus status() const override;
  core::UpstreamParts parts(const core::Scope& scope) override;
  std::unique_ptr<core::Hop> hop(core::HopRequest request, core::HopListener& listener) override;
  void notice(core::UpstreamNotice what) override;
  void stop(std::function<void()> done) override;

 private:
  // PortableScopes. If a session cannot be shared, the result is nullopt.
  std::optional<core::ScopeState> share_scope(const core::Scope& scope) override;
  core::Adoption adopt_scope(const core::Scope& scope, core::ScopeCallbacks& owner,
                             const core::ScopeState& state) override;
  void open_stream(const core::Scope& scope, const core::HeaderFields& headers) override;
  void close_stream(const core::Scope& scope) override;
  void when_settled(const core::Scope& scope, std::function<void()> done) override;
  void leave_scope(const core::Scope& scope) override;
  // ServerEraCallbacks
  void on_era_known(TransportCall& call) override;

  // HttpParts::serve_as_modern
  void serve_as_modern(SessionGroup& group);
  void send_modern(const mcp::Message& message, const core::HeaderFields& headers);
  // A legacy client's notification, if the server keeps no sessions.
  void send_without_session(const mcp::Message& message, const core::HeaderFields& headers);
  // Adds the call to its group's queue, or returns why it is refused.
  std::optional<core::Failure> enqueue(HttpCall& call);
  // The era in which this request is served. A server that speaks both eras serves legacy sessions in the
  // legacy era, including bridged ones: each is tried in that era until one was refused.
  mcp::Era era_for(const core::Scope& scope);
  uint64_t calls_here() const;  // counts for limits.maxInFlight and limits.maxQueue
  void note_hop();
  void schedule_pump() { pump_later_.schedule(); }
  void pump();
  bool pump(SessionGroup& group, size_t most);
  void pump_in_turns(const ReadyQueue<SessionGroup>& wanting);
  void check_stopped();

  net::Loop& loop_;
  const config::Server& server_;
  const SharedPart shared_;
  metrics::UpstreamStats& stats_ = metrics::upstream_stats(server_.name);
  std::unique_ptr<OauthClient> oauth_;  // if Lineward has credentials of its own; used by the origins
  OriginSet origins_{loop_, server_, shared_};
  const HttpParts parts_{
      loop_,     server_, shared_, origins_,    sub_requests_,
      failures_, health_, ids_,    planner_,    groups_,
      slots_,    era_,    calls_,  pump_later_, [this](SessionGroup& group) { serve_as_modern(group); }};
  HttpFailures failures_{server_};
  HttpSubRequests sub_requests_{origins_, server_.limits.max_message_bytes};
  net::Deferred pump_later_{loop_, [](void* self) { static_cast<HttpUpstream*>(self)->pump(); }, this};
  SessionGroups groups_{parts_};
  QuestionSlots slots_{parts_};
  HttpPlainHops plain_hops_;
  HttpDocuments documents_{loop_};
  OriginChecks checks_{parts_};
  HttpHealth health_{loop_, server_, shared_.version};
  HttpEraProber prober_{parts_, origins_.fault()};
  ServerEra era_{loop_, server_, prober_, *this};
  HttpCallTable calls_{parts_};
  CallLimiter places_{server_, shared_.version};
  SessionPlanner planner_{server_};
  // Sessions in front of several servers, by core::Scope::bridged_session.
  struct Bridged {
    core::ScopeCallbacks* owner;
    bool is_modern = false;  // its server refused the legacy era
  };
  std::unordered_map<std::string, Bridged> bridged_;
  std::chrono::milliseconds modern_only_until_{0};
  RequestIds ids_;
  std::function<void()> stopped_;
  net::Timer stop_limit_;
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

// A server over Streamable HTTP as an upstream: its era, its groups of callers with the session of each, and
// the queue before the limit of calls at once.
//
// Groups follow behaviour.md 5 (isolation): a legacy client's session has a session of its own with the
// server, initialised by that client's own `initialize`; modern clients share one on a legacy server by what
// they declare, and need none on a modern one. A modern call is one POST; closing it is its cancel
// (behaviour.md 3).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/node_slabs.h"
#include "core/document_source.h"
#include "core/stats.h"
#include "core/upstream.h"
#include "net/lifetime.h"
#include "upstream/http_documents.h"
#include "upstream/http_farewells.h"
#include "upstream/http_plain_hop.h"
#include "upstream/oauth_client.h"
#include "upstream/portable_sessions.h"
#include "upstream/question_slots.h"
#include "upstream/sse_fallback.h"

namespace lineward::upstream {

class HttpUpstream final : public core::Upstream,
                           public core::DocumentSource,
                           public SessionOwner,
                           public SessionGroupsOwner,
                           public HttpEraOwner,
                           public FarewellHome {
 public:
  // `server.url` and its files were checked when the configuration was loaded; what is wrong with them all
  // the same fails every call.
  HttpUpstream(net::Loop& loop, const config::Server& server);
  ~HttpUpstream() override;

  // Asks for the era now rather than at the first call; `ready` (may be empty) hears the verdict once.
  void warm_up(std::function<void(const Verdict&)> ready) { era_->warm_up(std::move(ready)); }

  // Its clients' own credentials go up, and what it says of them comes down (config::plain_sidecar).
  void be_plain_sidecar(bool plain = true) { plain_sidecar_ = plain; }
  void fetch_document(const std::string& path, core::DocumentDone done) override;

  const std::string& name() const override { return server_.name; }
  const config::Server& server() const { return server_; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override;
  void close_scope(const core::Scope& scope) override;
  core::PortableScopes* portable(const core::Scope& scope) override;
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;
  void notify(const core::Scope& scope, const mcp::Message& message,
              const core::HeaderFields& headers) override;
  std::optional<std::vector<std::string>> versions() const override { return era_->versions(); }
  std::optional<mcp::Era> era() const override {
    return era_->is_known() ? std::optional(era_->era()) : std::nullopt;
  }
  core::Tells tells() const override { return era_->verdict().tells; }
  std::optional<bool> keeps_sessions() const override { return sse_->speaks_sse() ? true : keeps_sessions_; }
  void pass_notification(const mcp::Message& message, const core::HeaderFields& headers) override;
  std::unique_ptr<core::Hop> hop(core::HopRequest request, core::HopListener& listener) override;
  core::UpstreamStatus status() const override;
  void wake() override;
  void reconfigured() override;
  void stop(std::function<void()> done) override;

  // For HttpCall.
  net::Loop& loop() { return loop_; }
  CallerShares& shares() { return shares_; }
  void withdraw(HttpCall& call, std::string_view why);
  void reply(HttpCall& call, std::string message);
  void set_parked(HttpCall& call, bool parked);
  void retried(HttpCall& call);
  std::string server_info(const HttpCall& call);
  bool has_session(const HttpCall& call);
  void call_opened(HttpCall& call, HttpMessages& from, const http::ResponseInfo& info);
  void call_message(HttpCall& call, HttpMessages& from, mcp::Message&& message);
  void call_malformed(HttpCall& call, const mcp::MessageFault& fault);
  void call_ended(HttpCall& call, const MessagesEnd& end);
  HttpHealth& health() { return health_; }

 private:
  // SessionOwner
  int64_t next_id() override { return ids_.next(); }
  core::Failure failure_of(const MessagesEnd& end) override;
  void on_session_ready(HttpSession& session) override;
  void on_session_failed(HttpSession& session, const core::Failure& failure) override;
  void on_session_lost(HttpSession& session) override;
  void on_session_speaks_sse() override { sse_->found(); }
  void on_session_free(HttpSession& session) override;
  void on_session_message(HttpSession& session, mcp::Message message, HttpCall* call) override;
  void on_session_stray(HttpSession& session, mcp::Message message) override;

  void note_hop();
  // SessionGroupsOwner
  void close_group(SessionGroup& group, std::string_view why) override;
  // HttpEraOwner
  void on_era_known(HttpCall& call) override;

  void note_session(const HttpSession& session);
  // Into its group's queue; or why it goes nowhere.
  std::optional<core::Failure> enqueue(HttpCall& call);
  void schedule_pump() { pump_later_.schedule(); }
  void pump();
  void pump(SessionGroup& group);
  bool session_takes(SessionGroup& group, HttpCall& call);
  void open_session(SessionGroup& group);
  void sse_lost(HttpSession& session, SessionGroup& group);
  bool handled_here(SessionGroup& group, HttpCall& call);
  void send(SessionGroup& group, HttpCall& call);
  void finish(HttpCall& call, mcp::Message&& answer);
  void fail(HttpCall& call, const core::Failure& failure);
  void left(HttpCall& call);
  void refused(HttpCall& call, const MessagesEnd& end);
  void resume(HttpCall& call, const MessagesEnd& end);
  void listen_again(HttpCall& call, const core::Failure& failure);
  bool post(const std::string& group, std::string message, std::function<void()> sent) override;
  void cancel_task(const std::string& group, std::string_view params) override;
  void session_refused(HttpCall& call, SessionGroup& group);
  void call_notification(HttpCall& call, SessionGroup* group, mcp::Message&& message);
  void fail_queue(SessionGroup& group, const core::Failure& failure);
  void drop(std::string_view kind);
  void check_stopped();

  net::Loop& loop_;
  const config::Server& server_;
  const SharedHeaders post_headers_{base_headers(server_, HttpVerb::post)};
  ModernLines modern_lines_;
  core::UpstreamStats& stats_ = core::upstream_stats(server_.name);
  HttpUrl url_;
  std::string broken_;                  // why no call can be made at all
  std::unique_ptr<OauthClient> oauth_;  // where Lineward has credentials of its own; the pool asks it
  std::unique_ptr<HttpPool> pool_;
  std::unique_ptr<HttpErrands> errands_;
  net::Deferred pump_later_{loop_, [](void* self) { static_cast<HttpUpstream*>(self)->pump(); }, this};
  std::unique_ptr<SessionGroups> groups_;
  std::unique_ptr<QuestionSlots> slots_;
  std::unique_ptr<PortableSessions> portable_;
  HttpPlainHops plain_hops_;
  std::unique_ptr<HttpDocuments> documents_;
  bool plain_sidecar_ = false;
  HttpHealth health_{loop_, server_};
  std::unique_ptr<HttpEra> era_;
  std::unique_ptr<SseFallback> sse_;
  CallerShares shares_;
  SessionPlanner planner_{server_};
  RequestIds ids_;
  std::optional<bool> keeps_sessions_;  // as its last answer to `initialize` showed
  std::function<void()> stopped_;
  NodeSlabs call_nodes_;
  using CallNodes = SlabAllocator<std::pair<const int64_t, HttpCall*>>;
  // Sent, by the id the server knows.
  std::map<int64_t, HttpCall*, std::less<>, CallNodes> calls_{CallNodes(call_nodes_)};
  HttpFarewells farewells_{loop_, server_, *this};
  net::Timer stop_limit_;
  size_t in_flight_ = 0;  // without listens
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

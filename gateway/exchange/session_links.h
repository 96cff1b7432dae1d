// The legacy sessions of a worker, as far as their servers go: which session is with which form of a server,
// how it opens and ends there, and how it is shared with other replicas (docs/replicas.md).
//
// Owned by the exchange table. A link (exchange/session_link.h) lives from the `initialize` that goes to the
// server, or from the moment a session of another replica is taken over, until end(). A session whose link is
// here is always known to the client side too, which owns the client::Session; end() removes both.
//
// What learns of a session's end while a call of it may be on the stack says session_lost(): the session goes
// at the end of the turn then, and not at all when this has gone by then.
//
// Errors: what names a session that is not here does nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/session/session.h"
#include "core/upstream.h"
#include "exchange/live_exchanges.h"
#include "exchange/loose_policies.h"
#include "exchange/server_directory.h"
#include "exchange/session_link.h"
#include "net/lifetime.h"
#include "net/loop.h"

namespace lineward::exchange {

class SessionLinks final : public ExchangeFinder {
 public:
  // All of these outlive it; `plugins` is null where there are none, and may become another set.
  SessionLinks(net::Loop& loop, LiveExchanges& exchanges, const ServerDirectory& servers,
               const Plugins& plugins)
      : loop_(loop), exchanges_(exchanges), servers_(servers), plugins_(plugins) {}

  // Without them, as on stdio until its front is there, no session is known.
  void use_sessions(client::SessionTable& sessions) { sessions_ = &sessions; }
  // Sessions that can be served by other replicas are shared with them, from here on.
  void share_sessions(bool share) { shares_sessions_ = share; }

  // The form of a server that this session is with; empty where it is with none yet.
  UpstreamLease lease(const std::string& session) const;
  size_t count_of(const core::Upstream& upstream) const;
  // A legacy client says who it is when it opens its session; empty where it did not. Good until the session
  // is touched.
  std::string_view client_info(const std::string& session);

  // An exchange of a session begins and is over; idle sessions that are to end do so with their last one.
  void exchange_began(const Exchange& exchange);
  void exchange_over(const Exchange& exchange);
  // Its call is over, its client is not answered yet.
  void exchange_ending(const Exchange& exchange);

  // An `initialize` goes to its server. False: this session has a link already.
  bool open(const Exchange& exchange);
  // It has its result; null: none came, and the session never came to be.
  void opened(const Exchange& exchange, const mcp::Message* result);
  void task_started(const Exchange& exchange, std::string_view token, const std::string& client_token);
  // core::ExchangeApi: the client answers a question of the server.
  bool answered(const std::string& session, const mcp::Message& answer, core::AnswerCame came);
  // Ends its calls, its link and the session.
  void end(const std::string& session);
  // The idle sessions of a server that was retired. Where another form takes its place, sessions that are not
  // initialised yet may open with that.
  void end_idle_of(const UpstreamLease& retired, Retirement how);

  // core::ExchangeApi: sessions that other replicas may serve too.
  bool adopt(const std::string& session, const core::ScopeState& state);
  void stream_opened(const std::string& session, const core::HeaderFields& headers);
  void stream_closed(const std::string& session);
  void when_settled(const std::string& session, std::function<void()> done);

  // ExchangeFinder, for the links
  Exchange* find(core::ExchangeId id) override { return exchanges_.find(id); }
  std::vector<Exchange*> of_session(const std::string& session) override {
    return exchanges_.of_session(session);
  }
  Exchange* newest_to_ask(const std::string& session) override { return exchanges_.newest_to_ask(session); }
  client::Session* session(const std::string& id) override;
  void session_lost(const std::string& id) override;
  std::optional<std::string> judge(const core::Scope& scope, mcp::Message& message) override;

 private:
  SessionLink* link(const std::string& session) const;
  void share(client::Session& opened, size_t authorization);
  void close_scope(const client::Session& ending, SessionLink& link);

  net::Loop& loop_;
  LiveExchanges& exchanges_;
  const ServerDirectory& servers_;
  const Plugins& plugins_;
  client::SessionTable* sessions_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<SessionLink>> links_;
  bool shares_sessions_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::exchange

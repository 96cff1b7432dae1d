// The server side of a worker's legacy sessions: a session's server version, its opening and end there, and
// sharing it with other replicas (docs/replicas.md).
//
// Owned by the exchange table. A link (proxy/exchange/session_link.h) lives until end(). It starts with the
// `initialize` sent to the server, or with the adoption of another replica's session. A linked session is
// always known to the client side too, which owns the client::Session; end() removes both.
//
// Code that learns of a session's end while one of its calls may be on the stack calls session_lost(). The
// session is then removed at the end of the turn, unless this object is gone by then.
//
// Errors: operations on an unknown session do nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/client/session/session.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/live_exchanges.h"
#include "proxy/exchange/out_of_call_policies.h"
#include "proxy/exchange/server_directory.h"
#include "proxy/exchange/session_link.h"

namespace lineward::exchange {

class SessionLinks final : public ExchangeFinder {
 public:
  // All of these outlive it; `plugins` may be null and may be replaced.
  SessionLinks(net::Loop& loop, LiveExchanges& exchanges, const ServerDirectory& servers,
               const Plugins& plugins)
      : loop_(loop), exchanges_(exchanges), servers_(servers), plugins_(plugins) {}

  // Before this call no session is known, as on stdio before its front exists.
  void use_sessions(client::SessionTable& sessions) { sessions_ = &sessions; }
  // Shares sessions with other replicas from here on, where the server allows it.
  void share_sessions(bool share) { shares_sessions_ = share; }

  // The server version that this session is with; empty: none yet.
  ServerRef lease(const std::string& session) const;
  size_t count_of(const core::Upstream& upstream) const;
  // The clientInfo that a legacy client sent with `initialize`; empty: none. Valid until the session is
  // touched.
  std::string_view client_info(const std::string& session);

  // An exchange of a session begins, and is over; retired idle sessions end with their last exchange.
  void exchange_began(const Exchange& exchange);
  void exchange_ended(const Exchange& exchange);
  // Its call is over, its client has no answer yet.
  void exchange_ending(const Exchange& exchange);

  // An `initialize` is sent to its server. False: this session has a link already.
  bool open(const Exchange& exchange);
  // The `initialize` has its result; null: none, and the session was never created.
  void opened(const Exchange& exchange, const mcp::Message* result);
  // `client_token`: for its progress; empty: the client wants none.
  void task_started(const Exchange& exchange, std::string_view token, const std::string& client_token);
  // core::ExchangeApi: the client answers a request of the server.
  bool answered(const std::string& session, const mcp::Message& answer, core::AnswerCame came);
  // Ends its calls, its link and the session.
  void end(const std::string& session);
  // Ends the idle sessions of a retired server. If a new version replaces it, sessions that are not
  // initialised yet may open with the new one.
  void end_idle_of(const ServerRef& retired, Retirement how);

  // core::ExchangeApi: sessions that other replicas may serve too.
  core::Adoption adopt(const std::string& session, const core::ScopeState& state);
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

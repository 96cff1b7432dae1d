// Acts in place of a legacy server towards one group of its callers, and in place of an absent client. It
// answers calls that the server need not receive, and requests of the server that no client can answer. It
// also repeats to a new process or session the log level and the subscriptions of the last one (behaviour.md
// 5 and 9).
//
// There is one for each group of callers, for every transport. It calls only the objects that it is passed.
#pragma once

#include <optional>
#include <string>

#include "foundation/base/counted_string.h"
#include "foundation/base/result.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/shared/legacy_listens.h"

namespace lineward::upstream {

class LowestLogLevel;

class LegacyFacade {
 public:
  explicit LegacyFacade(const config::Server& server) : server_(server) {}

  // ---- in the server's place ----

  // The answer to a call that a server initialised by Lineward need not see: server information, a repeated
  // `initialize`, or a log level above one that another caller set. Nullopt: the server must answer.
  using LocalAnswer = std::optional<Result<mcp::Message, core::Failure>>;
  LocalAnswer answer(const core::UpstreamRequest& request, const mcp::LegacyServer& server,
                     const std::string& initialize_result, const LowestLogLevel& level) const;
  // Whether this log message is for this call, by the level that the call requested.
  static bool wants_log_line(const core::UpstreamRequest& request, const mcp::Message& line);

  // ---- in a client's place ----

  // The answer to roots/list: the configured roots.
  std::string roots(const mcp::Message& question) const;
  // The refusal of a request without a client that could answer; `place`: what has no client, for example
  // "process".
  static std::string nobody_to_ask(const mcp::Message& question, std::string_view place);

  // ---- replayed state ----

  // Stores the parameters of `initialize`: Lineward's own, or the client's.
  void keep_handshake(std::string params, const AccountPtr& account = nullptr) {
    initialize_params_.keep(std::move(params), account);
  }
  void forget_handshake() { initialize_params_.clear(); }
  const std::string& handshake() const { return initialize_params_.text(); }
  bool has_handshake() const { return !initialize_params_.empty(); }
  // Stores the log level and the subscriptions of a client's own session.
  void remember(const core::UpstreamRequest& request);
  void forget_subscriptions() { subscriptions_.clear(); }
  bool has_subscriptions() const { return !subscriptions_.empty(); }
  void replay(ListenServer& to) const;
  // Notifies the client of a session that state kept by the last process is gone. `scope` may become null
  // meanwhile.
  void tell_state_is_gone(const mcp::LegacyServer& server, core::ScopeCallbacks* const& scope) const;
  // The same without list changes: listens report those.
  void tell_restarted(core::ScopeCallbacks* const& scope) const;
  // Notifies that every list, and every subscribed resource, may have changed.
  void tell_changes(const mcp::LegacyServer& server, core::ScopeCallbacks* const& scope) const;

 private:
  static void tell(std::vector<std::string> notices, core::ScopeCallbacks* const& scope);

  const config::Server& server_;
  CountedString initialize_params_{Held::sessions};
  std::string level_params_;        // of logging/setLevel: only the level
  CountedStringSet subscriptions_;  // URIs
};

// A legacy server has one log level for all its callers: the lowest requested. Each call's own level is
// applied to its messages.
class LowestLogLevel {
 public:
  // The parameters of the logging/setLevel that this request needs; empty: none.
  std::string lower_for(const core::UpstreamRequest& request, const mcp::LegacyServer& server);
  // Sends that logging/setLevel, if needed.
  void want(const core::UpstreamRequest& request, ListenServer& server);
  // Whether a legacy client's own logging/setLevel must be sent to the server. True also for an invalid one.
  bool is_lowered_by(const mcp::Message& set_level) const;
  // It was sent.
  void is_set(const mcp::Message& set_level);
  int value() const { return level_; }

 private:
  static constexpr int kNobodys = 8;  // above all levels: none was requested yet
  int level_ = kNobodys;
};

}  // namespace lineward::upstream

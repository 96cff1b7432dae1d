// What Lineward says in a legacy server's place to one group of its callers, and in the place of a client
// that is gone: calls it answers without asking the server, the server's questions that are no client's, and
// what a new process or session must be told that the last one knew (behaviour.md 5 and 9).
//
// One for each group of callers, whatever the transport. Calls nobody but those it is handed.
#pragma once

#include <optional>
#include <string>

#include "base/kept_text.h"
#include "base/result.h"
#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "upstream/shared/legacy_listens.h"

namespace lineward::upstream {

class LowestLogLevel;

class LegacyFacade {
 public:
  explicit LegacyFacade(const config::Server& server) : server_(server) {}

  // ---- in the server's place ----

  // How a call ends that a server which Lineward has initialised need not be asked: who it is, a repeated
  // `initialize`, or a log level above what another of its callers wants to hear of. Nothing: it has to be
  // asked.
  using LocalAnswer = std::optional<Result<mcp::Message, core::Failure>>;
  LocalAnswer answer(const core::CallRequest& request, const mcp::LegacyServer& server,
                     const std::string& initialize_result, const LowestLogLevel& level) const;
  // Whether this log line of the server's is for this call, which wants lines of a level or none.
  static bool wants_log_line(const core::CallRequest& request, const mcp::Message& line);

  // ---- in a client's place ----

  // The answer to roots/list: the configured ones.
  std::string roots(const mcp::Message& question) const;
  // The refusal of a question that nobody can answer; `place` is where no client stands behind: "process".
  static std::string nobody_to_ask(const mcp::Message& question, std::string_view place);

  // ---- what is told again ----

  // The parameters of `initialize`: Lineward's own, or those that the client's came with.
  void keep_handshake(std::string params, const AccountPtr& account = nullptr) {
    initialize_params_.keep(std::move(params), account);
  }
  void forget_handshake() { initialize_params_.clear(); }
  const std::string& handshake() const { return initialize_params_.text(); }
  bool has_handshake() const { return !initialize_params_.empty(); }
  // The log level and the subscriptions of a client's own session.
  void remember(const core::CallRequest& request);
  void forget_subscriptions() { subscriptions_.clear(); }
  bool has_subscriptions() const { return !subscriptions_.empty(); }
  void replay(ListenServer& to) const;
  // Tells the client of a session that whatever the last process kept for it, the new one does not have.
  // `scope` may become null meanwhile.
  void tell_state_is_gone(const mcp::LegacyServer& server, core::ScopeOwner* const& scope) const;
  // Likewise, without the lists: whoever listens to them is told by what listens.
  void tell_restarted(core::ScopeOwner* const& scope) const;
  // Likewise that every list, and all that it has subscribed to, may have changed.
  void tell_changes(const mcp::LegacyServer& server, core::ScopeOwner* const& scope) const;

 private:
  static void tell(std::vector<std::string> notices, core::ScopeOwner* const& scope);

  const config::Server& server_;
  KeptText initialize_params_{Held::sessions};
  std::string level_params_;  // of logging/setLevel: the level alone
  KeptTexts subscriptions_;   // URIs
};

// A legacy server has one log level for all its callers: the lowest that anyone wanted. Each call's own is
// applied on the way back.
class LowestLogLevel {
 public:
  // The parameters of the logging/setLevel that this request needs; empty: none.
  std::string lower_for(const core::CallRequest& request, const mcp::LegacyServer& server);
  // Sends that.
  void want(const core::CallRequest& request, ListenServer& server);
  // A legacy client's own logging/setLevel: does the server have to hear of it? Also of one that is none.
  bool is_lowered_by(const mcp::Message& set_level) const;
  // It was sent.
  void is_set(const mcp::Message& set_level);
  int value() const { return level_; }

 private:
  static constexpr int kNobodys = 8;  // above all there are: none was wanted yet
  int level_ = kNobodys;
};

}  // namespace lineward::upstream

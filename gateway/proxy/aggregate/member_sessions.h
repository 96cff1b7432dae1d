// Legacy sessions in front of the aggregate, and their sessions at the members. A legacy server has a process
// or a session for each (behaviour.md 5). A server's request or notification outside of a call is sent to the
// session's client, under the aggregate's names. The client's answer returns to that server.
//
// Owned by the AggregateUpstream. A session exists here from open() to close(), at a member from its first
// request there on. A removed member is released by the session's last call there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "foundation/base/counted_string.h"
#include "proxy/core/upstream.h"

namespace lineward::aggregate {

struct Member;
class MemberSession;
struct NameMap;

class MemberSessions {
 public:
  // `shown` outlives it.
  explicit MemberSessions(NameMap& shown) : shown_(shown) {}
  ~MemberSessions();
  MemberSessions(const MemberSessions&) = delete;
  MemberSessions& operator=(const MemberSessions&) = delete;

  // A session's scope names it by `affinity` (BridgeSession::modern_scope). The owner lives until close().
  void open(const core::Scope& scope, core::ScopeCallbacks& owner);
  void close(const core::Scope& scope);
  // A lease on the member for a request of this scope, to be held until the request is over. The scope is
  // changed to the member's own.
  std::shared_ptr<void> enter(const std::shared_ptr<Member>& member, core::Scope& scope);
  // The server is no longer a member.
  void left(const std::string& member);
  // An answer of the session's client to a server's request; or a notification, for all its servers.
  // `headers`: those that may be forwarded to any member.
  void forward(const core::Scope& scope, const mcp::Message& message, const core::HeaderFields& headers);

 private:
  friend class MemberSession;
  struct Question {
    std::weak_ptr<MemberSession> asked;
    std::string server_id;  // raw
    MemoryCharge bytes{Held::sessions};
  };
  struct Session {
    Session(core::ScopeCallbacks& its_owner, std::string its_principal)
        : owner(its_owner), principal(std::move(its_principal)) {}
    core::ScopeCallbacks& owner;
    const std::string principal;
    std::map<std::string, std::shared_ptr<MemberSession>> members;  // by name
    std::map<uint64_t, Question> questions;                         // by the number in the id sent to the
                                                                    // client
    uint64_t next_question = 1;
  };
  // Receives a message of a member's server in the session; `only_call` as in ScopeCallbacks.
  void heard(MemberSession& at, mcp::Message message, std::optional<uint64_t> only_call);
  std::optional<mcp::Message> shown_question(Session& session, MemberSession& at, const mcp::Message& asked);
  // The server withdraws a question; empty: there is no such question.
  static std::optional<mcp::Message> shown_withdrawal(Session& session, const MemberSession& at,
                                                      const mcp::Message& cancelled);
  void withdraw_all(const MemberSession& at, std::string_view why);
  Session* find(const std::string& id);

  NameMap& shown_;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
};

}  // namespace lineward::aggregate

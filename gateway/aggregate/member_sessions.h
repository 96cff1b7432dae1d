// Legacy sessions in front of the aggregate, and what each of them has at the members: a legacy server has a
// process, or a session, for each (behaviour.md 5). A request or a notification of such a server that names
// no call goes to the session, under the aggregate's names; the client's answer goes back to that server.
//
// Owned by the AggregateUpstream. A session is here from open() to close(), at a member from its first
// request there on. A member that leaves is let go by the last call that the session has there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/kept_text.h"
#include "core/upstream.h"

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
  void open(const core::Scope& scope, core::ScopeOwner& owner);
  void close(const core::Scope& scope);
  // For a request of this scope to the member: a lease on it, to be held until the request is over. The scope
  // becomes the one that the member knows.
  std::shared_ptr<void> enter(const std::shared_ptr<Member>& member, core::Scope& scope);
  // It is no member any more.
  void left(const std::string& member);
  // An answer of a session's client to a server's request; or a notification, which is for all its servers.
  void forward(const core::Scope& scope, const mcp::Message& message);

 private:
  friend class MemberSession;
  struct Question {
    std::weak_ptr<MemberSession> asked;
    std::string server_id;  // raw
    HeldBytes bytes{Held::sessions};
  };
  struct Session {
    Session(core::ScopeOwner& its_owner, std::string its_principal)
        : owner(its_owner), principal(std::move(its_principal)) {}
    core::ScopeOwner& owner;
    const std::string principal;
    std::map<std::string, std::shared_ptr<MemberSession>> members;  // by name
    std::map<uint64_t, Question> questions;                         // by the number in the id that is shown
    uint64_t next_question = 1;
  };
  // A member's server said this in the session; `only_call` as in ScopeOwner.
  void heard(MemberSession& at, mcp::Message message, std::optional<uint64_t> only_call);
  std::optional<mcp::Message> shown_question(Session& session, MemberSession& at, const mcp::Message& asked);
  // The server takes a question back; nothing: it has not asked that.
  static std::optional<mcp::Message> shown_withdrawal(Session& session, const MemberSession& at,
                                                      const mcp::Message& cancelled);
  void withdraw_all(const MemberSession& at, std::string_view why);
  Session* find(const std::string& id);

  NameMap& shown_;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
};

}  // namespace lineward::aggregate

// Many servers as one (behaviour.md 7): an upstream around the upstreams of its members. It speaks 2026-07-28
// only, to the members too. A ModernBridge in front of it serves legacy clients, and each legacy member has a
// bridge of its own.
//
// Owned by the UpstreamSet, which calls join() and leave(); its calls must be destroyed before it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/aggregate/discovery.h"
#include "proxy/aggregate/member.h"
#include "proxy/aggregate/name_map.h"
#include "proxy/aggregate/page_memo.h"
#include "proxy/core/upstream.h"

namespace lineward::aggregate {

class FannedListen;
class RoutedCall;

// Does the failure mean that the server is away? A server that answers, even with an error, an oversized
// message or a refusal of this client, is not. `reason`: an end reason's name.
bool is_away(std::string_view reason);

class AggregateUpstream final : public core::Upstream {
 public:
  // `rules`, `aggregate` and `limits` must outlive this. `aggregate`: the configuration of the aggregate as a
  // whole; its name is reserved, and calls are found by it. `names`: where several workers serve it.
  AggregateUpstream(net::Loop& loop, const config::Aggregate& rules, const config::Server& aggregate,
                    const config::Listen& limits, std::shared_ptr<SharedNames> names = nullptr);
  ~AggregateUpstream() override;

  // Adds a member at the end. `lease` keeps the member's upstream alive while it is held.
  void join(const config::Server& server, plugin::GuardedUpstream& upstream,
            std::function<std::shared_ptr<void>()> lease);
  // `order`: the names of all configured servers, including those out of service.
  void sort(const std::vector<std::string>& order);
  // The member gets no new calls; those in flight go on. With `why`, no replacement follows, so calls that
  // wait for their client's answers end: a retry could not reach the member.
  void leave(const std::string& name, const std::string& why = {});

  // The member's own answer to discover is another one than its clients were given from memory.
  void described(const std::string& name);

  // core::Upstream
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  // The bridge in front keeps the sessions; these are their sessions at the members.
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override {
    member_sessions_.open(scope, owner);
  }
  void close_scope(const core::Scope& scope) override { member_sessions_.close(scope); }
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::ServerFacts facts() const override { return {mcp::Era::modern}; }
  core::UpstreamStatus status() const override;
  void stop(std::function<void()> done) override;

  // For its calls.
  net::Loop& loop() { return loop_; }
  const config::Aggregate& rules() const { return rules_; }
  const config::Timeouts& timeouts() const { return aggregate_.timeouts; }
  NameMap& shown() {
    shown_.catch_up();
    return shown_;
  }
  PageMemo& pages() { return pages_; }
  Discovery& discovery() { return discovery_; }
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }
  // absent: configured servers that are not members; an operator took them out of service, or their worker
  // has not announced them yet.
  enum class Named : uint8_t { members, absent };
  std::vector<std::string> names(Named which) const;
  bool is_configured(const std::string& server) const;
  std::shared_ptr<Member> find(const std::string& name) const;
  // The known facts of all members, and the members without facts.
  std::vector<MemberFacts> known_facts() const;
  // The time limit for this member's part.
  std::chrono::milliseconds part_limit(const Member& member) const;
  // A digest of what lets servers tell callers apart.
  size_t identity_of(const core::UpstreamRequest& asker) const;
  // Are all members (or those named) configured public?
  bool is_public() const;
  void learned(Member& member, const core::UpstreamRequest& asker, const mcp::Message& discovered);
  // A member's part of an answer arrived, or is missing.
  void came(Member& member);
  void missed(Member& member, std::string_view method, const Missing& missing);
  // The member answered one client with an error: it is reachable, and listening clients use it with their
  // own credentials.
  void refused(Member& member);
  // A listen on the member broke: while any client listens, the member is probed.
  void doubt(Member& member);
  // An item has no unique name.
  void left_out(const Member& member, List list, const std::string& item);
  void opened(FannedListen& listen);
  void closed(FannedListen& listen);
  // A call waits for its client's answers, or no longer does.
  void parked(RoutedCall& call);
  void unparked(RoutedCall& call);
  // Increases with each call: changes are notified in that order.
  uint64_t next_number() { return ++last_number_; }

 private:
  void note_absent(Member& member);
  // Probes members that are absent or in doubt, while any client listens.
  void watch();
  void look();
  enum class Told : bool { came, described };
  void tell_listens(const std::shared_ptr<Member>& member, Told what = Told::came);

  net::Loop& loop_;
  const config::Aggregate& rules_;
  const config::Server& aggregate_;
  NameMap shown_;
  PageMemo pages_;
  MemberSessions member_sessions_{shown_};
  std::vector<std::shared_ptr<Member>> members_;  // in configured order
  std::vector<std::string> configured_;           // likewise
  Discovery discovery_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, FannedListen*> listens_;
  std::map<uint64_t, RoutedCall*> parked_;
  std::map<std::string, std::unique_ptr<SubRequest>> looks_;  // by member
  net::Timer again_;
  std::set<std::string> told_;  // omitted items that were logged
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

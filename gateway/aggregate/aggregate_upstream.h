// Many servers as one (behaviour.md 7): an upstream around the upstreams of its members. It speaks 2026-07-28
// alone, to them too; a ModernBridge in front of it serves legacy clients, and each member's own one serves
// the aggregate where the member is legacy.
//
// Owned by the UpstreamSet, which tells it who joins and leaves; outlived by the calls that its callers hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "aggregate/discovery.h"
#include "aggregate/member.h"
#include "aggregate/name_map.h"
#include "config/config.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::aggregate {

class FannedListen;
class RoutedCall;

// What answers, be it with an error, too much or a refusal of this one client, is there. `reason`: an end
// reason's name.
bool is_away(std::string_view reason);

class AggregateUpstream final : public core::Upstream {
 public:
  // `rules` and `together` stay as long as this. `together`: what holds for all at once; by its name calls
  // find it, and no server can be called so.
  AggregateUpstream(net::Loop& loop, const config::Aggregate& rules, const config::Server& together);
  ~AggregateUpstream() override;

  // Behind those that there are. `lease` keeps the member's upstream alive while it is held.
  void join(const config::Server& server, plugin::GuardedUpstream& upstream,
            std::function<std::shared_ptr<void>()> lease);
  // `order`: the names of all servers as configured, also of those that are out of service.
  void sort(const std::vector<std::string>& order);
  // It takes no new calls; those that it has go on. With `why`, since nothing takes its place, calls that
  // wait for their client end: it could not come back to them.
  void leave(const std::string& name, const std::string& why = {});

  // core::Upstream
  const std::string& name() const override { return together_.name; }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  // The bridge in front keeps sessions: here is what they have at the members.
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override {
    member_sessions_.open(scope, owner);
  }
  void close_scope(const core::Scope& scope) override { member_sessions_.close(scope); }
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override;
  void notify(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
              const core::HeaderFields& headers) override;
  std::optional<std::vector<std::string>> versions() const override;
  std::optional<mcp::Era> era() const override { return mcp::Era::modern; }
  core::UpstreamStatus status() const override;
  void stop(std::function<void()> done) override;

  // For its calls.
  net::Loop& loop() { return loop_; }
  const config::Aggregate& rules() const { return rules_; }
  const config::Timeouts& timeouts() const { return together_.timeouts; }
  NameMap& shown() { return shown_; }
  Discovery& discovery() { return discovery_; }
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }
  // absent: those that are configured, and no members; an operator took them out of service, or their worker
  // has not shown them yet.
  enum class Named : uint8_t { members, absent };
  std::vector<std::string> names(Named which) const;
  std::shared_ptr<Member> find(const std::string& name) const;
  // The facts of all members that are known, and who is not.
  std::vector<MemberFacts> known_facts() const;
  // How long this member is waited for.
  std::chrono::milliseconds part_limit(const Member& member) const;
  // What the servers can tell one caller from the other by.
  size_t identity_of(const core::CallRequest& asker) const;
  // Are all of them (or of those named) configured public?
  bool is_public() const;
  void learned(Member& member, const core::CallRequest& asker, const mcp::Message& discovered);
  // A part of an answer came, or is missing.
  void came(Member& member);
  void missed(Member& member, std::string_view method, const Missing& missing);
  // It answered one client with an error: it is there, and who listens asks it with its own credentials.
  void refused(Member& member);
  // Something of it broke: while somebody listens, it is asked whether it is there.
  void doubt(Member& member);
  // An item has no name that is its own.
  void left_out(const Member& member, List list, const std::string& item);
  void opened(FannedListen& listen);
  void closed(FannedListen& listen);
  // A call waits for its client's answers, or does not any more.
  void parked(RoutedCall& call);
  void unparked(RoutedCall& call);
  // Whoever comes gets a higher one than those before: they are told things in that order.
  uint64_t next_number() { return ++last_number_; }

 private:
  void note_absent(Member& member);
  // Asks those that were absent, or may be, whether they are there, while somebody listens.
  void watch();
  void look();
  void tell_listens(const std::shared_ptr<Member>& member);

  net::Loop& loop_;
  const config::Aggregate& rules_;
  const config::Server& together_;
  NameMap shown_;
  MemberSessions member_sessions_{shown_};
  std::vector<std::shared_ptr<Member>> members_;  // in the order of the configuration
  std::vector<std::string> configured_;           // likewise
  Discovery discovery_;
  uint64_t last_number_ = 0;
  std::map<uint64_t, FannedListen*> listens_;
  std::map<uint64_t, RoutedCall*> parked_;
  std::map<std::string, std::unique_ptr<SubRequest>> looks_;  // by member
  net::Timer again_;
  std::set<std::string> told_;  // items left out that were logged
  bool stopping_ = false;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

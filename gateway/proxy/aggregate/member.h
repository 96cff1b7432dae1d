// A member server of the aggregate.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/config.h"
#include "config/forward_rules.h"
#include "proxy/aggregate/member_sessions.h"
#include "proxy/aggregate/merge.h"
#include "proxy/core/request_size.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/layers/guarded_upstream.h"

namespace lineward::aggregate {

// Owned by the AggregateUpstream; its calls share ownership.
struct Member {
  Member(const config::Server& its_server, plugin::GuardedUpstream& its_upstream,
         MemberSessions& its_sessions, std::function<std::shared_ptr<void>()> its_lease)
      : name(its_server.name),
        server(its_server),
        upstream(its_upstream),
        sessions(its_sessions),
        lease(std::move(its_lease)),
        forward(its_server, false) {}

  // The client's headers that this server's rules forward (they were admitted for any member), and those that
  // mirror the message.
  core::HeaderFields headers_for_it(const core::HeaderFields& all) const {
    core::HeaderFields out;
    for (const auto& header : all) {
      if (core::repeats_message(header.first) || forward.passes(header.first)) out.push_back(header);
    }
    return out;
  }

  // Empty: it accepts a request of that many bytes.
  std::optional<core::Failure> too_large(uint64_t bytes, bool on_stdio) const {
    return on_stdio ? std::nullopt : core::too_large(server, bytes);
  }

  const std::string name;
  // Valid while it is a member, or a lease is held:
  const config::Server& server;
  plugin::GuardedUpstream& upstream;
  MemberSessions& sessions;
  const std::function<std::shared_ptr<void>()> lease;
  const config::ForwardRules forward;

  // Did the server declare to a caller with these credentials that it lacks the capability? False if it was
  // never queried with them: the answer may differ between callers.
  bool denies(const core::UpstreamRequest& asker, std::string_view capability) const {
    return facts && !outdated && asked_as == identity_of(asker) && !facts->has(capability);
  }
  // May this list's changes be notified to a caller with these credentials?
  bool may_announce(const core::UpstreamRequest& asker, std::string_view capability) const {
    if (!facts) return refused;
    if (outdated) return true;
    return facts->has(capability, "listChanged") || asked_as != identity_of(asker);
  }
  // Can it be listened to? A server without declared facts may grant this caller something.
  bool is_known() const { return facts.has_value() || refused; }
  void learn(const core::UpstreamRequest& asker, MemberFacts told) {
    const bool unites = !std::exchange(outdated, false) && facts;
    facts = unites ? united(*facts, std::move(told)) : std::move(told);
    asked_as = identity_of(asker);
    relearns = false;
  }
  size_t identity_of(const core::UpstreamRequest& asker) const {
    // Mirrored headers differ with each call and do not identify the caller.
    const auto lasting = upstream::headers_of_client(asker.headers);
    return std::hash<std::string>()(upstream::identity_of(server, headers_for_it(lasting)) + '\n' +
                                    asker.scope.principal);
  }

  // The union of its declarations to all callers, for routing; clients' own answers are queried for each.
  std::optional<MemberFacts> facts;
  // The facts are those of its last life, and its own answer has shown others.
  bool outdated = false;
  size_t asked_as = 0;  // the last caller that queried it
  // Without facts: it is reachable, but refused the caller that queried it, for instance its credentials.
  // Other callers may get facts.
  bool refused = false;
  uint64_t denied_as = 0;  // the listen (by number) in the name of which a policy denied the last query
  // It was away at the last attempt: for a while its limit is shorter.
  bool absent = false;
  std::chrono::milliseconds absent_since{0};
  bool relearns = false;  // it is queried again for its facts
  bool doubted = false;   // a listen on it broke: it is being probed
  bool left = false;      // no longer a member
};

}  // namespace lineward::aggregate

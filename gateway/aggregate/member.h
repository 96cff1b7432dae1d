// One server of the aggregate, as the aggregate knows it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregate/member_sessions.h"
#include "aggregate/merge.h"
#include "config/config.h"
#include "config/forward_rules.h"
#include "core/request_size.h"
#include "core/upstream.h"
#include "http_client/http_headers.h"
#include "layers/guarded_upstream.h"

namespace lineward::aggregate {

// Owned by the AggregateUpstream; its calls share it, so that it stays while they do.
struct Member {
  Member(const config::Server& its_server, plugin::GuardedUpstream& its_upstream,
         MemberSessions& its_sessions, std::function<std::shared_ptr<void>()> its_lease)
      : name(its_server.name),
        server(its_server),
        upstream(its_upstream),
        sessions(its_sessions),
        lease(std::move(its_lease)),
        forward(its_server, false) {}

  // Of the client's headers, which were let in for any of the servers, those that are for this one, and those
  // that repeat the message.
  core::HeaderFields headers_for_it(const core::HeaderFields& all) const {
    core::HeaderFields out;
    for (const auto& header : all) {
      if (core::repeats_message(header.first) || forward.passes(header.first)) out.push_back(header);
    }
    return out;
  }

  // Nothing: it takes a request of that many bytes.
  std::optional<core::Failure> too_large(uint64_t bytes, bool on_stdio) const {
    return on_stdio ? std::nullopt : core::too_large(server, bytes);
  }

  const std::string name;
  // As long as it is a member, or a lease is held:
  const config::Server& server;
  plugin::GuardedUpstream& upstream;
  MemberSessions& sessions;
  const std::function<std::shared_ptr<void>()> lease;
  const config::ForwardRules forward;

  // Does it say to who asks like that that it has no such capability? It may say so to some, and not to
  // others: false where nobody has asked it as this one does.
  bool denies(const core::CallRequest& asker, std::string_view capability) const {
    return facts && asked_as == identity_of(asker) && !facts->has(capability);
  }
  // Changes of that list, to who asks like that.
  bool may_announce(const core::CallRequest& asker, std::string_view capability) const {
    if (!facts) return refused;
    return facts->has(capability, "listChanged") || asked_as != identity_of(asker);
  }
  // Can it be listened to? Where it has told nobody what it has, it may tell this one.
  bool is_known() const { return facts.has_value() || refused; }
  void learn(const core::CallRequest& asker, MemberFacts told) {
    facts = facts ? united(*facts, std::move(told)) : std::move(told);
    asked_as = identity_of(asker);
  }
  size_t identity_of(const core::CallRequest& asker) const {
    // What repeats one call's message says nothing of who asks.
    const auto lasting = upstream::headers_of_client(asker.headers);
    const auto shown = upstream::forwarded_headers(server, headers_for_it(lasting));
    return std::hash<std::string>()(upstream::identity_of(shown) + '\n' + asker.scope.principal);
  }

  // What it has said to anybody, for routing; what clients are told is asked for each of them.
  std::optional<MemberFacts> facts;
  size_t asked_as = 0;  // by whom it was asked last
  // While there are none: it is there, and answered whoever asked it with something else (credentials that it
  // does not take), which says nothing of what others get.
  bool refused = false;
  uint64_t denied_as = 0;  // the number of the listen as whose client a policy did not let it be asked last
  // It was not there when it was asked last: for a while it is not waited for as long as the others.
  bool absent = false;
  std::chrono::milliseconds absent_since{0};
  bool doubted = false;  // something of it broke: it is asked whether it is there
  bool left = false;     // no member any more
};

}  // namespace lineward::aggregate

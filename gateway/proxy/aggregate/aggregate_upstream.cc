#include "proxy/aggregate/aggregate_upstream.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/aggregate/fanned_listen.h"
#include "proxy/aggregate/merged_call.h"
#include "proxy/aggregate/routed_call.h"
#include "proxy/metrics/stats.h"

namespace lineward::aggregate {
namespace {

using mcp::EndReason;
using mcp::Method;
using std::chrono::milliseconds;

// For a while after a failure, an absent server has this limit, so that it does not delay each list.
constexpr milliseconds kAbsentLimit{1000};
constexpr milliseconds kAbsentFor{30000};
// The interval of probes of absent servers. It does not grow: a failing server is protected by its own
// backoff and circuit, and listening clients must notice its return within a second.
constexpr milliseconds kLook{500};
constexpr size_t kMaxTold = 1000;

}  // namespace

bool is_away(std::string_view reason) {
  const mcp::EndReasonRow* row = mcp::end_reason(reason);
  return row != nullptr && (row->kind == mcp::EndKind::timeout || mcp::has(row->reason, mcp::kServerDown) ||
                            row->reason == EndReason::circuit_open);
}

AggregateUpstream::AggregateUpstream(net::Loop& loop, const config::Aggregate& rules,
                                     const config::Server& aggregate, const config::Listen& limits,
                                     std::shared_ptr<SharedNames> names)
    : Upstream(aggregate.name),
      loop_(loop),
      rules_(rules),
      aggregate_(aggregate),
      shown_(rules, std::move(names)),
      pages_(loop, limits),
      discovery_(*this),
      again_(loop) {}

AggregateUpstream::~AggregateUpstream() {
  lifetime_.end();
  looks_.clear();
}

// ---- members ----

void AggregateUpstream::join(const config::Server& server, plugin::GuardedUpstream& upstream,
                             std::function<std::shared_ptr<void>()> lease) {
  shown_.uris.add_server(server.name);
  members_.push_back(std::make_shared<Member>(server, upstream, member_sessions_, std::move(lease)));
  if (!listens_.empty()) watch();
}

void AggregateUpstream::sort(const std::vector<std::string>& order) {
  const auto before = std::exchange(configured_, order);
  for (const std::string& name : before) {
    if (!is_configured(name)) shown_.forget(name);
  }
  shown_.catch_up();  // this worker may have no calls that would
  auto place = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  std::stable_sort(members_.begin(), members_.end(),
                   [&](const auto& a, const auto& b) { return place(a->name) < place(b->name); });
}

void AggregateUpstream::leave(const std::string& name, const std::string& why) {
  auto found =
      std::find_if(members_.begin(), members_.end(), [&](const auto& one) { return one->name == name; });
  if (found == members_.end()) return;
  (*found)->left = true;
  members_.erase(found);
  member_sessions_.left(name);
  pages_.forget(name);
  if (auto look = looks_.find(name); look != looks_.end()) {
    look->second->cancel("the server is leaving");
    loop_.retire(std::move(look->second));
    looks_.erase(look);
  }
  for (const auto& [number, listen] : std::map(listens_)) {
    if (listens_.count(number) > 0) listen->left(name);
  }
  if (why.empty()) return;
  for (const auto& [number, call] : std::map(parked_)) {
    if (parked_.count(number) > 0) call->left(name, why);
  }
}

std::vector<std::string> AggregateUpstream::names(Named which) const {
  std::vector<std::string> names;
  if (which == Named::absent) {
    std::copy_if(configured_.begin(), configured_.end(), std::back_inserter(names),
                 [this](const std::string& name) { return find(name) == nullptr; });
    return names;
  }
  for (const auto& member : members_)
    names.push_back(member->name);
  return names;
}

bool AggregateUpstream::is_configured(const std::string& server) const {
  return std::find(configured_.begin(), configured_.end(), server) != configured_.end();
}

std::shared_ptr<Member> AggregateUpstream::find(const std::string& name) const {
  for (const auto& member : members_) {
    if (member->name == name) return member;
  }
  return nullptr;
}

std::vector<MemberFacts> AggregateUpstream::known_facts() const {
  std::vector<MemberFacts> facts;
  for (const auto& member : members_) {
    if (member->facts) facts.push_back(*member->facts);
  }
  return facts;
}

size_t AggregateUpstream::identity_of(const core::UpstreamRequest& asker) const {
  std::string all;
  for (const auto& member : members_)
    all += fmt::format("{} ", member->identity_of(asker));
  return std::hash<std::string>()(all);
}

milliseconds AggregateUpstream::part_limit(const Member& member) const {
  bool short_of = member.absent && loop_.now() - member.absent_since < kAbsentFor;
  return short_of ? std::min(kAbsentLimit, rules_.part_timeout) : rules_.part_timeout;
}

bool AggregateUpstream::is_public() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
    // A plugin may show one caller something that others must not see.
    return member->server.cache_scope == config::CacheScope::everyone && !member->upstream.is_judged();
  });
}

void AggregateUpstream::learned(Member& member, const core::UpstreamRequest& asker,
                                const mcp::Message& discovered) {
  const bool is_new = !member.facts && !member.left, was_outdated = member.outdated && !member.left;
  member.learn(asker, facts_for_routing(member.name, discovered));
  const bool tells = (is_new || was_outdated) && !listens_.empty();
  if (tells) tell_listens(find(member.name), was_outdated ? Told::described : Told::came);
}

void AggregateUpstream::came(Member& member) {
  if (!std::exchange(member.absent, false) || member.left) return;
  log::write(log::Level::info, "aggregate.part_back", {{"upstream", member.name}});
  auto shared = find(member.name);
  if (shared.get() == &member) tell_listens(shared);
}

void AggregateUpstream::missed(Member& member, std::string_view method, const Missing& missing) {
  // Logged once for each loss, not for each list without its part.
  log::write(member.absent || missing.by_policy ? log::Level::debug : log::Level::warn,
             "aggregate.part_missing",
             {{"upstream", member.name},
              {"method", method},
              {"reason", missing.reason},
              {"why", log::Excerpt(missing.text, 200)}});
  if (is_away(missing.reason)) return note_absent(member);
  if (!missing.by_policy) refused(member);
}

void AggregateUpstream::refused(Member& member) {
  if (member.facts || member.left || std::exchange(member.refused, true)) return;
  if (!listens_.empty()) tell_listens(find(member.name));
}

void AggregateUpstream::doubt(Member& member) {
  if (member.left || std::exchange(member.doubted, true)) return;
  if (!listens_.empty()) watch();
}

void AggregateUpstream::described(const std::string& name) {
  auto member = find(name);
  if (!member || stopping_) return;
  member->outdated = true;
  member->relearns = true;
  if (!listens_.empty()) again_.start(milliseconds(0), [this] { look(); });
}

void AggregateUpstream::note_absent(Member& member) {
  if (!std::exchange(member.absent, true) || loop_.now() - member.absent_since >= kAbsentFor)
    member.absent_since = loop_.now();
  if (!listens_.empty()) watch();
}

void AggregateUpstream::left_out(const Member& member, List list, const std::string& item) {
  ++metrics::upstream_stats(member.name).left_out_items;
  if (told_.size() >= kMaxTold ||
      !told_.insert(fmt::format("{}/{}/{}", static_cast<int>(list), member.name, item.substr(0, 200))).second)
    return;
  bool full = shown_.tools.owners().full() || shown_.prompts.owners().full() || shown_.uris.owners().full();
  log::write(log::Level::warn, "aggregate.left_out",
             {{"upstream", member.name},
              {"list", row(list).member},
              {"item", log::Excerpt(item, 200)},
              {"why", item.empty() ? "it has no name"
                      : full       ? fmt::format("more than {} names", kMaxNames)
                                   : std::string("another server has this name")}});
}

// ---- calls ----

Result<std::unique_ptr<core::Call>, core::Failure> AggregateUpstream::start(core::UpstreamRequest&& request,
                                                                            core::CallCallbacks& owner) {
  using Started = Result<std::unique_ptr<core::Call>, core::Failure>;
  if (stopping_) return Unexpected<core::Failure>{{EndReason::cancelled_drain, "the gateway is stopping"}};
  if (members_.empty())
    return Unexpected<core::Failure>{{EndReason::upstream_unreachable, configured_.empty()
                                                                           ? "no server is configured"
                                                                           : "no server is in service"}};
  if (request.method == Method::subscriptions_listen &&
      request.message.is_object(mcp::Field::params_notifications)) {
    auto call = std::make_unique<FannedListen>(*this, std::move(request), owner);
    call->begin();
    return Started(std::move(call));
  }
  if (request.method == Method::server_discover || list_of(request.method) != nullptr) {
    auto call = std::make_unique<MergedCall>(*this, std::move(request), owner);
    call->begin();
    return Started(std::move(call));
  }
  auto call = std::make_unique<RoutedCall>(*this, std::move(request), owner);
  call->begin();
  return Started(std::move(call));
}

void AggregateUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                             const core::HeaderFields& headers) {
  if (client_era == mcp::Era::legacy) return member_sessions_.forward(scope, message, headers);
  for (const auto& member : members_) {
    if (auto refusal = member->too_large(message.bytes().size(), false)) {
      log::write(log::Level::info, "client.dropped",
                 {{"kind", "notification"}, {"upstream", member->name}, {"why", refusal->text}});
      continue;
    }
    member->upstream.send(scope, client_era, message, member->headers_for_it(headers));
  }
}

core::UpstreamStatus AggregateUpstream::status() const {
  using State = core::UpstreamStatus::State;
  core::UpstreamStatus status;
  status.versions = {std::string(mcp::kNewestModern)};
  size_t ready = 0;
  for (const auto& member : members_) {
    core::UpstreamStatus its = member->upstream.status();
    if (its.is_usable()) {
      ++ready;
    } else {
      status.why +=
          fmt::format("{}{} is {}", status.why.empty() ? "" : ", ", member->name, core::name(its.state));
    }
  }
  status.state = stopping_ ? State::draining : ready > 0 ? State::ready : State::starting;
  if (!status.why.empty())
    status.why = fmt::format("{} of {} servers; {}", ready, members_.size(), status.why);
  return status;
}

void AggregateUpstream::stop(std::function<void()> done) {
  stopping_ = true;
  again_.stop();
  looks_.clear();
  discovery_.stop();
  loop_.defer(std::move(done));
}

// ---- probes of absent servers ----

void AggregateUpstream::parked(RoutedCall& call) {
  parked_[call.number()] = &call;
}

void AggregateUpstream::unparked(RoutedCall& call) {
  parked_.erase(call.number());
}

void AggregateUpstream::opened(FannedListen& listen) {
  listens_[listen.number()] = &listen;
  watch();
}

void AggregateUpstream::closed(FannedListen& listen) {
  listens_.erase(listen.number());
  if (listens_.empty()) again_.stop();
}

void AggregateUpstream::tell_listens(const std::shared_ptr<Member>& member, Told what) {
  if (!member) return;
  for (const auto& [number, listen] : std::map(listens_)) {
    if (listens_.count(number) > 0) what == Told::came ? listen->came(member) : listen->described(member);
  }
}

void AggregateUpstream::watch() {
  if (again_.running() || stopping_) return;
  again_.start(kLook, [this] { look(); });
}

void AggregateUpstream::look() {
  if (listens_.empty() || stopping_) return;
  bool open = false;
  for (const auto& member : members_) {
    if (member->is_known() && !member->absent && !member->doubted && !member->relearns) continue;
    open = true;
    if (looks_.count(member->name) > 0 || (!member->facts && discovery_.is_asking(Topic::facts))) continue;
    auto& look = looks_[member->name] = std::make_unique<SubRequest>(loop_, member);
    // A policy may admit one of the listening clients, and not another.
    auto listen = listens_.upper_bound(member->denied_as);
    if (listen == listens_.end()) listen = listens_.begin();
    core::UpstreamRequest asked = own_request(listen->second->request(), Method::server_discover, {});
    const auto asker = std::make_shared<const core::UpstreamRequest>(asked);
    look->ask(std::move(asked), rules_.part_timeout,
              [this, member, asker, number = listen->first](Result<mcp::Message, core::Failure> answer) {
                auto found = looks_.find(member->name);
                if (found != looks_.end()) {
                  loop_.retire(std::move(found->second));
                  looks_.erase(found);
                }
                if (!answer && is_away(mcp::name(answer.error().reason))) return note_absent(*member);
                bool was_doubted = std::exchange(member->doubted, false);
                member->relearns = false;
                const bool was_outdated = member->outdated;
                if (!answer && answer.error().by_policy) {  // its server was not reached
                  member->denied_as = number;
                  return;
                }
                // Any other answer, to any client, shows that it is reachable.
                const bool told = answer && answer->kind() == mcp::MessageKind::result;
                const bool is_new = told ? !member->facts : !member->is_known();
                if (told)
                  member->learn(*asker, facts_for_routing(member->name, *answer));
                else if (!member->facts)
                  member->refused = true;
                // Listens that broke while the server was reachable are reopened after their own pauses.
                const bool is_back = std::exchange(member->absent, false) || is_new || !was_doubted;
                if (told && was_outdated) return tell_listens(member, Told::described);
                if (is_back) tell_listens(member);
              });
  }
  if (open) watch();
}

}  // namespace lineward::aggregate

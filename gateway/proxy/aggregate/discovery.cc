#include "proxy/aggregate/discovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/log/log.h"
#include "proxy/aggregate/aggregate_upstream.h"
#include "proxy/aggregate/name_map.h"
#include "proxy/metrics/limits.h"

namespace lineward::aggregate {
namespace {

using mcp::Field;
using std::chrono::milliseconds;

// The minimum interval between queries for one caller, and the maximum of callers within it. Further callers
// use the others' results.
constexpr milliseconds kPause{5000};
constexpr size_t kMaxAskers = 32;
constexpr size_t kMaxKey = 8192;

std::vector<List> lists_of(Topic topic) {
  switch (topic) {
    case Topic::tools: return {List::tools};
    case Topic::prompts: return {List::prompts};
    case Topic::resources: return {List::resources, List::templates};
    case Topic::facts: return {List::count_};
    case Topic::count_: break;
  }
  return {};
}

}  // namespace

Discovery::Discovery(AggregateUpstream& aggregate) : aggregate_(aggregate) {}

Discovery::~Discovery() = default;

void Discovery::stop() {
  for (auto& round : rounds_)
    round.reset();
}

bool Discovery::is_fresh(Topic topic, const core::UpstreamRequest& asker) const {
  const milliseconds now = aggregate_.loop().now();
  std::vector<Learned> fresh = learned_[static_cast<size_t>(topic)];
  std::erase_if(fresh, [&](const Learned& one) { return now - one.at >= kPause; });
  if (fresh.empty()) return false;
  const size_t identity = aggregate_.identity_of(asker);
  return fresh.size() >= kMaxAskers || std::any_of(fresh.begin(), fresh.end(), [&](const Learned& one) {
           return one.identity == identity;
         });
}

void Discovery::remember(Topic topic, size_t identity) {
  const milliseconds now = aggregate_.loop().now();
  auto& learned = learned_[static_cast<size_t>(topic)];
  std::erase_if(learned,
                [&](const Learned& one) { return now - one.at >= kPause || one.identity == identity; });
  if (learned.size() < kMaxAskers) learned.push_back({identity, now});
}

uint64_t Discovery::learn(Topic topic, const core::UpstreamRequest& like, std::function<void()> done) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  if (!round) {
    round = std::make_unique<DiscoveryRound>();
    round->like = own_request(like, mcp::Method::server_discover, {});  // in its client's name
    aggregate_.loop().defer(lifetime_, [this, topic] { begin(topic); });
  }
  round->waiting[next_waiter_] = std::move(done);
  return next_waiter_++;
}

void Discovery::forget(uint64_t waiter) {
  for (auto& round : rounds_) {
    if (round) round->waiting.erase(waiter);
  }
}

void Discovery::begin(Topic topic) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  if (!round) return;
  for (const auto& member : aggregate_.members()) {
    for (List list : lists_of(topic)) {
      const bool known = list == List::count_ ? member->facts.has_value()
                                              : member->denies(round->like, row(list).capability);
      if (known) continue;
      auto reading = std::make_unique<Reading>();
      reading->sub_request = std::make_unique<SubRequest>(aggregate_.loop(), member);
      reading->list = list;
      reading->held.charge(round->like.account());  // charged to the caller it is queried for
      round->readings.push_back(std::move(reading));
    }
  }
  std::vector<Reading*> all;
  for (auto& reading : round->readings)
    all.push_back(reading.get());
  round->until = aggregate_.loop().now() + aggregate_.rules().part_timeout;
  for (Reading* reading : all)
    ask(topic, *reading);
  check(topic);
}

void Discovery::ask(Topic topic, Reading& reading) {
  DiscoveryRound& round = *rounds_[static_cast<size_t>(topic)];
  const Member& member = *reading.sub_request->member();
  milliseconds left = std::min(aggregate_.part_limit(member), round.until - aggregate_.loop().now());
  bool facts = reading.list == List::count_;
  core::UpstreamRequest request =
      own_request(round.like, facts ? mcp::Method::server_discover : row(reading.list).method,
                  reading.cursor.empty() ? std::string() : "\"cursor\":" + reading.cursor);
  reading.sub_request->ask(std::move(request), std::max(left, milliseconds(1)),
                           [this, topic, &reading](Result<mcp::Message, core::Failure> answer) {
                             read(topic, reading, std::move(answer));
                           });
}

void Discovery::read(Topic topic, Reading& reading, Result<mcp::Message, core::Failure> answer) {
  Member& member = *reading.sub_request->member();
  reading.done = true;
  if (answer && answer->bytes().size() > aggregate_.rules().max_part_bytes) {
    metrics::limit_reached(metrics::Limit::part_bytes);
    answer = Unexpected<core::Failure>{
        {mcp::EndReason::upstream_protocol,
         fmt::format("its list of {} bytes is longer than {} (aggregate.maxPartBytes)",
                     answer->bytes().size(), aggregate_.rules().max_part_bytes)}};
  }
  bool result = answer && answer->kind() == mcp::MessageKind::result;
  if (result && reading.list == List::count_) {
    aggregate_.learned(member, rounds_[static_cast<size_t>(topic)]->like, *answer);
  } else if (result) {
    size_t most = aggregate_.rules().max_items;
    for_each_item(answer->bytes(), answer->at(row(reading.list).items), reading.list,
                  [&](const ListItem& item) {
                    if (item.own.empty() || item.own.size() > kMaxKey || reading.keys.size() >= most) return;
                    reading.held.add(item.own.size() + sizeof item.own);
                    reading.keys.push_back(item.own);
                  });
    std::string next(answer->raw(Field::result_next_cursor));
    bool more = !next.empty() && next != "null" && next != reading.cursor && ++reading.pages < kMaxPages;
    if (more && reading.keys.size() < most) {
      reading.done = false;
      reading.cursor = std::move(next);
      return ask(topic, reading);
    }
  } else if (answer) {
    aggregate_.refused(member);
  } else {
    aggregate_.missed(member, "learning",
                      {member.name, std::string(mcp::name(answer.error().reason)), answer.error().text});
    // The failure is reported to other callers too: that a server is away holds for all, that it refused one
    // caller's credentials does not.
    auto& unread = rounds_[static_cast<size_t>(topic)]->unread;
    const core::Failure& why = answer.error();
    if (!unread && is_away(mcp::name(why.reason)))
      unread = core::Failure{.reason = why.reason,
                             .text = why.text,
                             .limit_ms = why.limit_ms,
                             .retry_after_ms = why.retry_after_ms};
  }
  check(topic);
}

// Names are assigned in configured order, not in order of arrival.
void Discovery::check(Topic topic) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  for (const auto& reading : round->readings) {
    if (!reading->done) return;
  }
  for (const auto& reading : round->readings) {
    const std::string& server = reading->sub_request->member()->name;
    if (!aggregate_.is_configured(server)) continue;  // a reload has removed it: its names are free
    for (const std::string& key : reading->keys) {
      if (claim(aggregate_.shown(), reading->list, server, key).empty())
        aggregate_.left_out(*reading->sub_request->member(), reading->list, key);
    }
  }
  remember(topic, aggregate_.identity_of(round->like));
  unread_[static_cast<size_t>(topic)] = std::move(round->unread);
  // A sub-request of the round is on the stack.
  auto waiting = std::exchange(round->waiting, {});
  aggregate_.loop().retire(std::move(round));
  for (auto& [number, done] : waiting) {
    aggregate_.loop().defer(lifetime_, std::move(done));
  }
}

}  // namespace lineward::aggregate

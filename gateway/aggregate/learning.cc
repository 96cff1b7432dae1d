#include "aggregate/learning.h"

#include <fmt/format.h>

#include "json/json_at.h"
#include "log/log.h"
#include "aggregate/aggregate_upstream.h"

namespace lineward::route {
namespace {

using mcp::Field;
using std::chrono::milliseconds;

// Nobody can make Lineward ask more often than this.
constexpr milliseconds kPause{5000};
constexpr milliseconds kNever{-1};
constexpr size_t kLongestKey = 8192;

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

Learning::Learning(AggregateUpstream& home) : home_(home) {
  learned_at_.fill(kNever);
}

Learning::~Learning() = default;

void Learning::stop() {
  for (auto& round : rounds_)
    round.reset();
}

bool Learning::is_fresh(Topic topic) const {
  milliseconds at = learned_at_[static_cast<size_t>(topic)];
  return at != kNever && home_.loop().now() - at < kPause;
}

uint64_t Learning::learn(Topic topic, const core::CallRequest& like, std::function<void()> done) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  if (!round) {
    round = std::make_unique<Round>();
    round->like = own_request(like, mcp::Method::server_discover, {});  // stands for its client
    home_.loop().defer(lifetime_, [this, topic] { begin(topic); });
  }
  round->waiting[next_waiter_] = std::move(done);
  return next_waiter_++;
}

void Learning::forget(uint64_t waiter) {
  for (auto& round : rounds_) {
    if (round) round->waiting.erase(waiter);
  }
}

void Learning::begin(Topic topic) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  if (!round) return;
  for (const auto& member : home_.members()) {
    for (List list : lists_of(topic)) {
      bool known = member->facts.has_value();
      if (list == List::count_ ? known : known && !member->facts->has(row(list).capability)) continue;
      auto reading = std::make_unique<Reading>();
      reading->errand = std::make_unique<Errand>(home_.loop(), member);
      reading->list = list;
      round->readings.push_back(std::move(reading));
    }
  }
  std::vector<Reading*> all;
  for (auto& reading : round->readings)
    all.push_back(reading.get());
  round->until = home_.loop().now() + home_.rules().part_timeout;
  for (Reading* reading : all)
    ask(topic, *reading);
  check(topic);
}

void Learning::ask(Topic topic, Reading& reading) {
  Round& round = *rounds_[static_cast<size_t>(topic)];
  const Member& member = *reading.errand->member();
  milliseconds left = std::min(home_.part_limit(member), round.until - home_.loop().now());
  bool facts = reading.list == List::count_;
  core::CallRequest request =
      own_request(round.like, facts ? mcp::Method::server_discover : row(reading.list).method,
                  reading.cursor.empty() ? std::string() : "\"cursor\":" + reading.cursor);
  reading.errand->ask(std::move(request), std::max(left, milliseconds(1)),
                      [this, topic, &reading](Result<mcp::Message, core::Failure> answer) {
                        read(topic, reading, std::move(answer));
                      });
}

void Learning::read(Topic topic, Reading& reading, Result<mcp::Message, core::Failure> answer) {
  Member& member = *reading.errand->member();
  reading.done = true;
  if (answer && answer->bytes().size() > home_.rules().max_part_bytes)
    answer = Unexpected<core::Failure>{
        {mcp::EndReason::upstream_protocol,
         fmt::format("its list of {} bytes is longer than {} (aggregate.maxPartBytes)",
                     answer->bytes().size(), home_.rules().max_part_bytes)}};
  bool result = answer && answer->kind() == mcp::MessageKind::result;
  if (result && reading.list == List::count_) {
    home_.learned(member, *answer);
  } else if (result) {
    const std::string& text = answer->bytes();
    json::Span items = answer->at(row(reading.list).items);
    size_t most = home_.rules().max_items;
    json::for_each_element_at(text, items, [&](json::Span item) {
      std::string key = json::string_at(text, json::member_at(text, item, row(reading.list).key));
      if (!key.empty() && key.size() <= kLongestKey && reading.keys.size() < most)
        reading.keys.push_back(std::move(key));
    });
    std::string next(answer->raw(Field::result_next_cursor));
    bool more = !next.empty() && next != "null" && next != reading.cursor && ++reading.pages < kMostPages;
    if (more && reading.keys.size() < most) {
      reading.done = false;
      reading.cursor = std::move(next);
      return ask(topic, reading);
    }
  } else if (!answer) {
    home_.missed(member, "learning",
                 {member.name, std::string(mcp::name(answer.error().reason)), answer.error().text});
  }
  check(topic);
}

// Names are given away in the order of the configuration, not in that of the answers.
void Learning::check(Topic topic) {
  auto& round = rounds_[static_cast<size_t>(topic)];
  for (const auto& reading : round->readings) {
    if (!reading->done) return;
  }
  for (const auto& reading : round->readings) {
    const std::string& server = reading->errand->member()->name;
    for (const std::string& key : reading->keys) {
      if (claim(home_.shown(), reading->list, server, key).empty())
        home_.left_out(*reading->errand->member(), reading->list, key);
    }
  }
  learned_at_[static_cast<size_t>(topic)] = home_.loop().now();
  // One of its errands is on the stack.
  auto waiting = std::exchange(round->waiting, {});
  home_.loop().retire(std::move(round));
  for (auto& [number, done] : waiting) {
    home_.loop().defer(lifetime_, std::move(done));
  }
}

}  // namespace lineward::route

// Queries the servers before a request can be routed: for the owner of an unprefixed name, and for the server
// that declares a capability. Sent on behalf of the requesting client, shared by all that wait, and not
// repeated for a while. Exception: a caller with other credentials, since a server may have refused the first
// caller or shown it less. Known names are never queried.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/sub_request.h"
#include "proxy/core/upstream.h"

namespace lineward::aggregate {

class AggregateUpstream;

enum class Topic : uint8_t { tools, prompts, resources, facts, count_ };

class Discovery {
 public:
  explicit Discovery(AggregateUpstream& aggregate);
  ~Discovery();

  // Was it queried recently with this caller's credentials?
  bool is_fresh(Topic topic, const core::UpstreamRequest& asker) const;
  // The failure of a server that was away at the last query; null: none was.
  const core::Failure* unread(Topic topic) const {
    const auto& why = unread_[static_cast<size_t>(topic)];
    return why ? &*why : nullptr;
  }
  // Is a query in progress?
  bool is_asking(Topic topic) const { return rounds_[static_cast<size_t>(topic)] != nullptr; }
  // `done` is called once, never synchronously: when the servers have answered or their limits ran out. The
  // query is sent as `like`, or an earlier caller's query is joined. Returns a number for forget().
  uint64_t learn(Topic topic, const core::UpstreamRequest& like, std::function<void()> done);
  void forget(uint64_t waiter);
  void stop();

 private:
  struct Reading {
    std::unique_ptr<SubRequest> sub_request;
    List list = List::count_;  // count_: server/discover
    uint32_t pages = 0;
    std::string cursor;
    std::vector<std::string> keys;   // names or URIs, as the server sends them
    MemoryCharge held{Held::calls};  // `keys`, until the last list has arrived
    bool done = false;
  };
  struct DiscoveryRound {
    core::UpstreamRequest like;
    std::vector<std::unique_ptr<Reading>> readings;
    std::map<uint64_t, std::function<void()>> waiting;
    std::chrono::milliseconds until{0};
    std::optional<core::Failure> unread;
  };
  void begin(Topic topic);
  void ask(Topic topic, Reading& reading);
  void read(Topic topic, Reading& reading, Result<mcp::Message, core::Failure> answer);
  void check(Topic topic);
  void remember(Topic topic, size_t identity);

  AggregateUpstream& aggregate_;
  std::array<std::unique_ptr<DiscoveryRound>, static_cast<size_t>(Topic::count_)> rounds_;
  struct Learned {
    size_t identity = 0;  // of the caller (AggregateUpstream::identity_of)
    std::chrono::milliseconds at{0};
  };
  std::array<std::vector<Learned>, static_cast<size_t>(Topic::count_)> learned_;  // recent queries
  std::array<std::optional<core::Failure>, static_cast<size_t>(Topic::count_)> unread_;
  uint64_t next_waiter_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

// What has to be asked of the servers before a request can be routed: whose a name is that does not say it,
// and who declares a capability. Asked on behalf of the client that needs it, for all who wait together, and
// not again for a while, but for who has credentials of its own: a server may have refused the one who asked,
// or have shown it less. A name that is known is never asked for.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/lists.h"
#include "aggregate/sub_request.h"
#include "base/held_bytes.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::aggregate {

class AggregateUpstream;

enum class Topic : uint8_t { tools, prompts, resources, facts, count_ };

class Discovery {
 public:
  explicit Discovery(AggregateUpstream& aggregate);
  ~Discovery();

  // Was it asked a moment ago, as this one asks?
  bool is_fresh(Topic topic, const core::CallRequest& asker) const;
  // Why a server did not answer when it was asked last, where one was away; null where none was.
  const core::Failure* unread(Topic topic) const {
    const auto& why = unread_[static_cast<size_t>(topic)];
    return why ? &*why : nullptr;
  }
  // Is it being asked?
  bool is_asking(Topic topic) const { return rounds_[static_cast<size_t>(topic)] != nullptr; }
  // `done` is called once, never from here: when it is known, as far as the servers' limits allow, to `like`
  // or to one before it that was asked for already. The number forgets it again.
  uint64_t learn(Topic topic, const core::CallRequest& like, std::function<void()> done);
  void forget(uint64_t waiter);
  void stop();

 private:
  struct Reading {
    std::unique_ptr<SubRequest> sub_request;
    List list = List::count_;  // none: server/discover
    uint32_t pages = 0;
    std::string cursor;
    std::vector<std::string> keys;  // names or URIs, as the server calls them
    HeldBytes held{Held::calls};    // of these, until the last list is there
    bool done = false;
  };
  struct DiscoveryRound {
    core::CallRequest like;
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
    size_t identity = 0;  // of who asked (AggregateUpstream::identity_of)
    std::chrono::milliseconds at{0};
  };
  std::array<std::vector<Learned>, static_cast<size_t>(Topic::count_)> learned_;  // a moment ago
  std::array<std::optional<core::Failure>, static_cast<size_t>(Topic::count_)> unread_;
  uint64_t next_waiter_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

// The pending requests of one process of a stdio server, by their upstream ids: clients' calls, Lineward's
// own requests, and cancelled calls that may still be answered. Upstream ids are its own integers, never the
// clients' ids.
//
// Belongs to a StdioInstance. Calls nothing back. Calls are plain pointers: each is removed before it is
// freed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "foundation/base/slab_allocator.h"
#include "foundation/net/loop.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/shared/attribution.h"
#include "proxy/upstream/stdio/stdio_call.h"

namespace lineward::upstream {

struct PendingCall {
  // `stands`: this process has acknowledged it.
  enum class Listen : uint8_t { none, asked, stands };
  int64_t id = 0;
  StdioCall* call = nullptr;  // null: cancelled, or Lineward's own
  bool counts = false;        // counts as in flight
  Listen listen = Listen::none;
  bool is_listen() const { return listen != Listen::none; }
  bool asks = false;
  bool own = false;         // Lineward's own request
  bool of_gateway = false;  // a call of Lineward's, not of a client
  bool own_initialize = false;
  bool own_discover = false;  // the probe that shows that a modern process runs
  ListenServer::OwnAnswer own_answer;
  std::chrono::milliseconds due{0};  // of Lineward's own requests; 0: another limit runs, or it is over
  // For a cancelled call.
  uint64_t tag = 0;
  std::chrono::milliseconds cancelled_at{0};
  metrics::CancelTold told = metrics::CancelTold::nothing;
  bool cancelled = false;
  std::unique_ptr<KeptCallerId> caller;
};

class InstanceCalls {
 public:
  using Table =
      std::map<int64_t, PendingCall, std::less<>, SlabAllocator<std::pair<const int64_t, PendingCall>>>;

  // `all_in_flight`: the number of calls in flight, over all processes.
  InstanceCalls(net::Loop& loop, const config::Server& server, size_t& all_in_flight)
      : attribution(loop, server), loop_(loop), all_in_flight_(all_in_flight) {}

  Attribution attribution;  // of the messages that name no call

  // Adds a request that is written next; returns its new id.
  int64_t add(PendingCall entry);
  // Null: not found.
  PendingCall* find(int64_t id);
  // The same by the raw id of a server's message.
  PendingCall* named(std::string_view raw_id);
  // Removes an entry and frees its place.
  PendingCall take(PendingCall& entry);
  void forget(PendingCall& entry) { take(entry); }
  // Removes all: the process is down.
  Table take_all();
  const Table& all() const { return pending_; }
  // For a cancelled call: only its id is remembered.
  void free_place(PendingCall& entry);
  // A parked call does not count as in flight.
  void handed_over(StdioCall& call, core::Handover how);

  size_t in_flight() const { return in_flight_; }
  // No caller waits for anything; Lineward's own listens do not keep a process.
  bool is_idle() const;
  bool has_listens() const;
  bool has_calls() const;  // parked and cancelled ones too
  // The number of calls during which the server may send requests. Cancelled ones count until they are
  // answered or their grace is over, so that a late request gets no wrong owner.
  size_t asking() const;
  // The call that has this process for itself, ignoring cancelled ones; null: none, or several.
  StdioCall* exclusive_call() const;
  // That call, if it is parked and no other request is pending.
  StdioCall* only_parked() const;
  // The calls that a message without an id may be for. `message`: see PossibleCalls.
  PossibleCalls possible(const mcp::Message* message = nullptr) const;
  // The call was answered.
  void note_over(const PendingCall& entry);

 private:
  // The only call among the entries that count; null if there are several, if one was cancelled, or in doubt.
  template <class Skips, class Doubts>
  StdioCall* only(Skips skips, Doubts doubts) const {
    StdioCall* one = nullptr;
    for (const auto& [id, entry] : pending_) {
      if (skips(entry)) continue;
      if (one != nullptr || entry.call == nullptr || doubts(entry)) return nullptr;
      one = entry.call;
    }
    return one;
  }
  void count(int64_t change) {
    in_flight_ += static_cast<size_t>(change);
    all_in_flight_ += static_cast<size_t>(change);
  }
  static PossibleCall possible_call(const PendingCall& entry);

  net::Loop& loop_;
  size_t& all_in_flight_;
  Slabs nodes_;
  Table pending_{Table::allocator_type(nodes_)};
  int64_t next_id_ = 1;
  size_t in_flight_ = 0;
};

}  // namespace lineward::upstream

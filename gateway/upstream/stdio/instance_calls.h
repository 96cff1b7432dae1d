// The requests that one process of a stdio server has and has not answered, by the ids it knows: clients'
// calls, Lineward's own requests, and cancelled ones that may be answered yet. Says whose a message can be
// that names none (behaviour.md 13). Ids are its own integers, never the clients'.
//
// Belongs to a StdioInstance. Calls are plain pointers: each leaves the table before it is freed. Calls
// nobody back but the one that counts what is in flight.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/node_slabs.h"
#include "config/config.h"
#include "metrics/stats.h"
#include "net/loop.h"
#include "upstream/shared/attribution.h"
#include "upstream/stdio/stdio_call.h"

namespace lineward::upstream {

struct PendingCall {
  int64_t id = 0;
  StdioCall* call = nullptr;  // null: cancelled, or Lineward's own
  bool counts = false;        // takes a place in flight
  bool listen = false;
  bool acknowledged = false;  // a listen
  bool asks = false;
  bool own = false;         // Lineward's own request
  bool of_gateway = false;  // a call, and no client's
  bool own_initialize = false;
  bool own_discover = false;  // with which a modern process shows that it is there
  ListenServer::OwnAnswer own_answer;
  std::chrono::milliseconds due{0};  // of Lineward's own; 0: another limit runs, or it is over
  // Of a cancelled one.
  uint64_t tag = 0;
  std::chrono::milliseconds cancelled_at{0};
  core::CancelTold told = core::CancelTold::nothing;
  bool cancelled = false;
  std::unique_ptr<KeptCallerId> caller;
};

class InFlightOwner {
 public:
  // So many more calls, or fewer, are in flight. Must not call back.
  virtual void on_in_flight(int64_t change) = 0;

 protected:
  ~InFlightOwner() = default;
};

class InstanceCalls {
 public:
  using Table =
      std::map<int64_t, PendingCall, std::less<>, SlabAllocator<std::pair<const int64_t, PendingCall>>>;

  InstanceCalls(net::Loop& loop, const config::Server& server, InFlightOwner& owner)
      : loop_(loop), server_(server), owner_(&owner) {}
  InstanceCalls(const InstanceCalls&) = delete;
  InstanceCalls& operator=(const InstanceCalls&) = delete;

  // Of a spare that gets its purpose.
  void set_owner(InFlightOwner& owner) { owner_ = &owner; }

  // A request that is written next; it gets its id here.
  int64_t add(PendingCall entry);
  // Null: it is not there.
  PendingCall* find(int64_t id);
  // As a server names it.
  PendingCall* named(std::string_view raw_id);
  // It is over, and its place free.
  PendingCall take(PendingCall& entry);
  void forget(PendingCall& entry) { take(entry); }
  // All of them: their process is down.
  Table take_all();
  const Table& all() const { return pending_; }
  // Of a cancelled one: only its id is remembered.
  void free_place(PendingCall& entry);
  // A parked call takes no place.
  void handed_over(StdioCall& call, core::Handover how);

  // Lines of the server that were of no use to any client, since they were taken last.
  void note_useless() { ++useless_; }
  uint64_t take_useless() { return std::exchange(useless_, 0); }

  size_t in_flight() const { return in_flight_; }
  // Nothing that a caller waits for; Lineward's own listens keep no process.
  bool is_idle() const;
  bool has_listens() const;
  bool has_calls() const;  // parked and cancelled ones too
  // Calls during which the server may ask its client something: cancelled ones count until they are answered
  // or their grace is over, so that a late question finds no wrong owner.
  size_t asking() const;
  // The call that a question belongs to: the one such call there is; null when there are several, it was
  // cancelled, or some client's other request is there beside it.
  StdioCall* asking_call() const;
  // The call that has this process for itself, cancelled ones aside; null: none, or several.
  StdioCall* exclusive_call() const;
  // That call, where it is parked and nothing else is here.
  StdioCall* only_parked() const;
  // The call whose client was asked what this notification names (TransportCall::asked_what_is_named).
  StdioCall* asked_by(const mcp::Message& notification) const;
  // The one call there is; null when a cancelled one may still be worked on.
  StdioCall* only_call() const;
  // The call that a message without a name belongs to: only one that no other can be meant beside.
  StdioCall* owner_of_unnamed() const;
  // The call that a log line without a name is for: all that may be meant are its caller's.
  StdioCall* owner_of_line() const;

  // It was answered: for a while the server may have more to say about it.
  void note_over(const PendingCall& entry);
  // Until when a call that may ask and was answered may be meant by a question all the same.
  std::chrono::milliseconds asked_until() const { return late_askers_.until(); }
  // All of those were this call's caller's.
  bool asked_by_none_but(const StdioCall& call) const {
    return late_askers_.none_but(CallerId(call.request), loop_.now());
  }
  // Such a one was answered, and the server was not heard to be done with it.
  bool is_unsettled() const { return unsettled_ && late_askers_.any(loop_.now()); }
  void settled() { unsettled_ = false; }

 private:
  void count(int64_t change);
  static CallerId caller_of(const PendingCall& entry);

  net::Loop& loop_;
  const config::Server& server_;
  InFlightOwner* owner_;
  NodeSlabs nodes_;
  Table pending_{Table::allocator_type(nodes_)};
  int64_t next_id_ = 1;
  size_t in_flight_ = 0;
  // Whose calls were answered, and whose of those that may ask.
  LateCallers late_;
  LateCallers late_askers_;
  uint64_t useless_ = 0;
  bool unsettled_ = false;
};

}  // namespace lineward::upstream

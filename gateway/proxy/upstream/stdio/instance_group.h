// Callers of a stdio server that may share processes, and those processes: their queue, starts with backoff,
// and the state that a replacement process must be told (behaviour.md 5).
//
// Owned by a StdioUpstream, retired at the end of a loop turn.
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "foundation/net/lifetime.h"
#include "proxy/upstream/shared/caller_group.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/stdio/stdio_health.h"
#include "proxy/upstream/stdio/stdio_instance.h"

namespace lineward::upstream {

class InstanceGroup;

// The interface of a group to its upstream.
class GroupCallbacks {
 public:
  // Start pauses and the circuit.
  virtual StdioHealth& health() = 0;
  // May one more process be started now? If not, an idle process that is not in use may be ended to make
  // room: one per request. `whose`: the requesting caller, if known.
  virtual Room room_for_instance(const InstanceGroup& asking, const Account* whose) = 0;
  // A process is ending, which makes room.
  virtual bool capacity_pending() const = 0;
  // A spare process; null if there is none, or if the caller has reached its share.
  virtual std::unique_ptr<StdioInstance> take_spare(const InstanceGroup& asking, const Account* whose) = 0;
  // A process ended before it was ready, or refused a client's own `initialize`: the era may be wrong.
  // `refused`: calls that wait for Lineward's `initialize`, which was refused. Removes from it the calls that
  // now wait for the correct era, once each.
  virtual void start_failed(const ProcessEnd& end, std::deque<StdioCall*>& refused) = 0;
  // A modern server's process for a session in front of several servers refused Lineward's `initialize`.
  // True: the session's calls continue as modern calls, and its group is closed.
  virtual bool serves_as_modern(InstanceGroup& group, const ProcessEnd& end) = 0;
  // The answer of a process to Lineward's own `server/discover`. True: it shows that the assumed era is
  // wrong; the group is closed.
  virtual bool is_of_other_era(InstanceGroup& group, const mcp::Message& discovered) = 0;
  // The number of calls in flight, over all groups.
  virtual size_t& in_flight() = 0;
  virtual bool stopping() const = 0;
  virtual void schedule_pump() = 0;
  virtual void schedule_pump(InstanceGroup& group) = 0;  // this group has work
  // A process is ending; free it when it has exited.
  virtual void take_leaving(std::unique_ptr<StdioInstance> instance) = 0;
  virtual void instance_gone(StdioInstance& instance) = 0;
  virtual void instance_lost() = 0;                     // it ended without a stop()
  virtual void group_served(InstanceGroup& group) = 0;  // a group for one call is done

 protected:
  ~GroupCallbacks() = default;
};

class InstanceGroup final : public InstanceCallbacks {
 public:
  InstanceGroup(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                GroupCallbacks& owner, CallerGroup plan);

  const std::string& key() const { return plan_.key; }
  // The caller that owns these processes; null: several callers, or the gateway's only one.
  const Account* caller() const { return caller_.get(); }
  void set_scope(core::ScopeCallbacks* scope) { scope_ = scope; }

  void enqueue(StdioCall& call);
  void withdraw(StdioCall& call);
  // Takes the queued calls.
  std::deque<StdioCall*> take_queue() { return std::exchange(queue_, {}); }
  // Sends calls, at most `most`, and starts processes as needed. True: it would send more.
  bool pump(size_t most = std::numeric_limits<size_t>::max());
  bool wants_pump() const;
  void forward(const mcp::Message& message);
  // Fails the queued calls if no process is ready. Listens that are open for their clients stay.
  void refuse_waiting(const core::Failure& failure);
  // Ends everything: calls, listens, processes.
  void close(std::string_view why);

  bool in_line = false;  // ready_queue.h

  size_t instances() const { return instances_.size(); }
  bool has_ready() const;
  // Time until the next attempt after failed processes; 0: now.
  std::chrono::milliseconds pause() const {
    return instances_.empty() && loop_.now() < not_before_ ? not_before_ - loop_.now()
                                                           : std::chrono::milliseconds(0);
  }
  // How the last process ended that was not stopped.
  const std::string& last_end() const { return last_end_; }
  bool unused() const {
    return instances_.empty() && queue_.empty() && listens_.empty() && scope_ == nullptr &&
           loop_.now() >= not_before_;
  }
  // Its processes hold state that a client may return for: a live session, or state under a name or a
  // principal. They are never given to a new caller.
  bool is_pinned() const {
    return (scope_ != nullptr && scope_->is_pinned()) || (kept_from_ > 0 && calls_ >= kept_from_);
  }
  // For ProcessQuota, which assigns processes (process_quota.h).
  bool keeps_names() const { return kept_from_ > 0; }  // they hold state under a name or a principal
  bool takes_turns() const {
    return plan_.exclusive;
  }  // a call that allows server requests has one for itself
  bool is_listened() const { return listens_.need_server(); }
  const core::ScopeCallbacks* scope() const { return scope_; }
  const std::deque<StdioCall*>& queue() const { return queue_; }
  const std::vector<std::unique_ptr<StdioInstance>>& processes() const { return instances_; }
  // Since when it has been waiting for room; max: it is not waiting.
  std::chrono::milliseconds without_room_since() const { return without_room_since_; }
  void end_idle(std::chrono::milliseconds longer_than);
  // Ends the process of an abandoned session (core::ScopeCallbacks::abandoned_for); the session continues
  // with another. 0: never. Once: a client that returned is expected to return again.
  void end_abandoned(std::chrono::milliseconds after);

  // InstanceCallbacks
  void on_instance_ready(StdioInstance& instance) override;
  void on_instance_free(StdioInstance& instance) override;
  void on_instance_message(StdioInstance& instance, mcp::Message message) override;
  void on_instance_initialized(const mcp::Message& answer) override;
  bool is_wanted(const mcp::Message& discovered) override {
    return !owner_.is_of_other_era(*this, discovered);
  }
  void on_instance_expired(StdioInstance& instance, std::string_view why) override;
  void on_instance_answered(HealthSignal what) override { owner_.health().answered(what); }
  void on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                        std::vector<StdioCall*> listens) override;
  void on_instance_gone(StdioInstance& instance) override { owner_.instance_gone(instance); }

 private:
  void learn_caller(const core::UpstreamRequest& request);
  bool room_in_flight() const { return in_flight_ < server_.limits.max_in_flight; }
  bool asks(const StdioCall& call) const { return plan_.exclusive && mcp::may_ask(call.request.method); }
  // The server is known to send requests after its answers. So for a while after a call no other caller may
  // use the process: it could get the first caller's request.
  bool keeps_apart(const Attribution& after);
  // The group of a single session, whichever side sends `initialize`: it has one process at a time.
  bool of_one_session() const { return session_ || plan_.bridged; }
  bool own_handshake() const { return !session_ && plan_.era == mcp::Era::legacy; }
  // Picks a process for this call: one that accepts it, else one that is starting, else a new one. `claimed`
  // counts the starting processes that serve calls further ahead.
  StdioInstance* pick(const StdioCall& call, bool& full, size_t& claimed);
  StdioInstance* start_instance(const Account* whose);
  void replace_expired();
  bool handled_here(StdioInstance& instance, StdioCall& call);
  void restore(StdioInstance& instance);
  void fail_queue(const core::Failure& failure);

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  GroupCallbacks& owner_;
  size_t& in_flight_;  // over all groups
  CallerGroup plan_;
  const bool session_;  // the client's own `initialize` opens the first process
  // From this number of calls on its processes hold a client's state; 0: never.
  const uint32_t kept_from_;
  core::ScopeCallbacks* scope_ = nullptr;  // of a legacy session
  bool was_abandoned_ = false;             // its process ended without its client
  bool comes_back_ = false;                // after that its client came back
  std::vector<std::unique_ptr<StdioInstance>> instances_;
  std::deque<StdioCall*> queue_;
  LegacyListens listens_;  // of its callers, on a legacy server
  LegacyFacade facade_{server_};
  bool asks_late_ = false;  // a process sent a request after it had answered the call
  net::Timer apart_timer_{loop_};
  bool initialized_sent_ = false;
  bool has_served_ = false;  // a process was ready before
  std::string last_end_;
  MemoryCharge key_bytes_{Held::servers};
  config::Identity::Map about_caller_;  // variables of the next process; of one caller
  AccountPtr caller_;
  uint32_t calls_ = 0;  // number of calls, counted up to kept_from_
  std::chrono::milliseconds without_room_since_ = std::chrono::milliseconds::max();
  Room room_ = Room::there;  // of the last request for a process
  bool replacing_ = false;   // a process has expired
  bool revive_ = false;      // a session has subscriptions: it needs a process even without calls
  uint32_t failures_ = 0;    // failed starts in a row
  std::chrono::milliseconds not_before_{0};
  std::chrono::milliseconds next_move_{0};  // of listens to the next process
  net::Timer move_timer_{loop_};
  net::Timer backoff_{loop_};
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

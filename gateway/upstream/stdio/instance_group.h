// Callers of a stdio server that may share processes, and those processes: the queue before them, starts with
// backoff, what a new process must be told that an old one knew (behaviour.md 5).
//
// Owned by a StdioUpstream, retired at the end of a loop turn.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/lifetime.h"
#include "upstream/shared/caller_group.h"
#include "upstream/stdio/group_questions.h"
#include "upstream/stdio/move_pause.h"
#include "upstream/stdio/stdio_health.h"
#include "upstream/stdio/stdio_instance.h"

namespace lineward::upstream {

class InstanceGroup;

// What came of asking for one more process.
enum class Room : uint8_t {
  there,
  none,      // as many run as may
  no_share,  // what is left is another caller's
};

// What a group needs from its upstream.
class GroupOwner {
 public:
  // When processes may be started, and what they have shown.
  virtual StdioHealth& health() = 0;
  // May one more process be started now? Where it may not, room is made when somebody's process is to be had
  // that is idle and nobody's: one process for each that asks. `whose`: the caller for whom it asks, where
  // that is known.
  virtual Room room_for_instance(const InstanceGroup& asking, const Account* whose) = 0;
  // A process is ending and makes room.
  virtual bool room_soon() const = 0;
  // One that was started ahead; null where there is none, or its caller has all that it may have.
  virtual std::unique_ptr<StdioInstance> take_spare(const InstanceGroup& asking, const Account* whose) = 0;
  // A process ended before it was ready, or refused a client's own `initialize`: perhaps the era is not what
  // it was taken for. `refused`: the calls for which it refused Lineward's; those go out of there that wait
  // for the true era, once each.
  virtual void start_failed(const ProcessEnd& end, std::deque<StdioCall*>& refused) = 0;
  // A modern server's process for a session that is kept in front of several servers did not take Lineward's
  // `initialize`: true when that session's calls go on as those of modern clients, and its group is closed.
  virtual bool serves_as_modern(InstanceGroup& group, const ProcessEnd& end) = 0;
  virtual bool room_in_flight() const = 0;
  virtual bool stopping() const = 0;
  virtual void schedule_pump() = 0;
  virtual void schedule_pump(InstanceGroup& group) = 0;  // this one wants something
  // A process is ending; free it when it is gone.
  virtual void take_leaving(std::unique_ptr<StdioInstance> instance) = 0;
  virtual void instance_gone(StdioInstance& instance) = 0;
  virtual void instance_lost() = 0;                     // it was not told to go
  virtual void group_served(InstanceGroup& group) = 0;  // a group for one call is done
  virtual void count_in_flight(int64_t change) = 0;

 protected:
  ~GroupOwner() = default;
};

class InstanceGroup final : public InstanceOwner {
 public:
  InstanceGroup(net::Loop& loop, net::Spawner& spawner, const config::Server& server, GroupOwner& owner,
                CallerGroup plan);
  ~InstanceGroup();

  const std::string& key() const { return plan_.key; }
  // Whose processes these are; null: of several, or of one who has the gateway alone.
  const Account* caller() const { return caller_.get(); }
  void set_scope(core::ScopeOwner* scope) { scope_ = scope; }

  void enqueue(StdioCall& call);
  void withdraw(StdioCall& call);
  // Its calls that wait.
  std::deque<StdioCall*> take_queue() { return std::exchange(queue_, {}); }
  // Sends what can be sent, so many calls at most, and starts what must be started. True: it would send more.
  bool pump(size_t most = std::numeric_limits<size_t>::max());
  bool wants_pump() const;
  void forward(const mcp::Message& message);
  // Ends the calls that wait, where no process is there for them. Listens that are open for their clients
  // stay.
  void refuse_waiting(const core::Failure& failure);
  // Ends everything: calls, listens, processes.
  void close(std::string_view why);

  bool in_line = false;  // wait_line.h

  size_t instances() const { return instances_.size(); }
  bool has_ready() const;
  // How long until it may be tried again, when its last processes came to nothing; 0: now.
  std::chrono::milliseconds pause() const {
    return instances_.empty() && loop_.now() < not_before_ ? not_before_ - loop_.now()
                                                           : std::chrono::milliseconds(0);
  }
  const std::string& last_end() const {
    return last_end_;
  }  // how the last process that was not told to go ended
  void list(std::vector<core::UpstreamStatus::Process>& out) const;
  bool unused() const {
    return instances_.empty() && queue_.empty() && listens_.empty() && scope_ == nullptr &&
           loop_.now() >= not_before_;
  }
  // What its processes keep is somebody's: a session that lives, or state that is called by a name or a
  // principal. They are never taken for a newcomer.
  bool is_lived_in() const {
    return (scope_ != nullptr && scope_->is_lived_in()) || (kept_from_ > 0 && calls_ >= kept_from_);
  }
  // What has to be known of it where processes are given out (process_room.h).
  struct View {
    const Account* caller;  // as caller()
    bool keeps_names;       // its processes have state that a name or a principal stands for
    bool takes_turns;       // calls that may ask have a process for themselves, whoever makes them
    core::ScopeOwner* scope;
    const LegacyListens& listens;
    const std::deque<StdioCall*>& queue;
    const std::vector<std::unique_ptr<StdioInstance>>& processes;
  };
  View view() const {
    return {caller_.get(), kept_from_ > 0, plan_.exclusive, scope_, listens_, queue_, instances_};
  }
  // Since when it has been waiting for room; max: it does not wait.
  std::chrono::milliseconds without_room_since() const { return without_room_since_; }
  void end_idle(std::chrono::milliseconds longer_than);

  // InstanceOwner
  void on_instance_ready(StdioInstance& instance) override;
  void on_instance_free(StdioInstance& instance) override;
  void on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) override;
  void on_instance_initialized(StdioInstance& instance, const mcp::Message& answer) override;
  void on_instance_expired(StdioInstance& instance, std::string_view why) override;
  void on_instance_answered(StdioInstance&, Heard what) override { owner_.health().answered(what); }
  void on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                        std::vector<StdioCall*> listens) override;
  void on_instance_gone(StdioInstance& instance) override { owner_.instance_gone(instance); }
  void on_in_flight(int64_t change) override { owner_.count_in_flight(change); }

 private:
  bool asks(const StdioCall& call) const { return plan_.exclusive && mcp::may_ask(call.request.method); }
  // What a session's own server says that belongs to no single call by its id.
  void to_bridged(StdioInstance& instance, mcp::Message message, StdioCall* only);
  // One session's, whoever initialises its processes: it has one at a time.
  bool of_one_session() const { return session_ || plan_.bridged; }
  bool own_handshake() const { return !session_ && plan_.era == mcp::Era::legacy; }
  // A process for this call: one that may take it, else one that is coming up, else a new one.
  // `claimed` counts the processes that come up for calls further ahead.
  StdioInstance* pick(const StdioCall& call, bool& full, size_t& claimed);
  StdioInstance* start_instance(const Account* whose);
  void replace_expired();
  bool handled_here(StdioInstance& instance, StdioCall& call);
  void restore(StdioInstance& instance);
  void fail_queue(const core::Failure& failure);

  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Server& server_;
  GroupOwner& owner_;
  CallerGroup plan_;
  const bool session_;  // the client's own `initialize` makes the first process
  // What its process keeps is somebody's from so many calls on; 0: nobody's.
  const uint32_t kept_from_;
  core::ScopeOwner* scope_ = nullptr;  // of a legacy session
  std::vector<std::unique_ptr<StdioInstance>> instances_;
  std::deque<StdioCall*> queue_;
  LegacyListens listens_;  // of its callers, on a legacy server
  LegacyFacade facade_{server_};
  GroupQuestions questions_{loop_, server_, plan_, facade_, [this] { owner_.schedule_pump(*this); }};
  bool initialized_sent_ = false;
  bool has_served_ = false;  // a process was ready before
  std::string last_end_;
  HeldBytes key_bytes_{Held::servers};
  AccountPtr caller_;
  uint32_t calls_ = 0;  // so many came, as far as it matters
  std::chrono::milliseconds without_room_since_ = std::chrono::milliseconds::max();
  bool share_met_ = false;  // what it waits for is another caller's
  bool replacing_ = false;  // some process has expired
  bool revive_ = false;     // a session subscribed to something: it needs a process while nobody calls
  uint32_t failures_ = 0;   // starts in a row that came to nothing
  std::chrono::milliseconds not_before_{0};
  MovePause moves_{loop_};
  net::Timer backoff_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

// One process of a stdio server that speaks one era for life: the handshake, the table of ids, and which call
// each of its messages belongs to (behaviour.md 5). Ids and progress tokens are its own integers, never the
// clients'.
//
// Owned by a StdioUpstream group; retired when its process is gone.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/kept_text.h"
#include "base/node_slabs.h"
#include "core/upstream.h"
#include "mcp/legacy_server.h"
#include "mcp/revision.h"
#include "upstream/stdio_call.h"
#include "upstream/stdio_process.h"

namespace lineward::upstream {

class InstanceOwner {
 public:
  virtual void on_instance_ready(StdioInstance& instance) = 0;
  // A place became free, or the pipe took what was queued.
  virtual void on_instance_free(StdioInstance& instance) = 0;
  // A server's request, or a notification that names no call.
  // `only`: the one call it can belong to, where there is exactly one.
  virtual void on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) = 0;
  // The answer to the client's own `initialize`, about to be passed on.
  virtual void on_instance_initialized(StdioInstance& instance, const mcp::Message& answer) = 0;
  // It answered something for the first time. `of_call`: what was asked for a client, not Lineward's
  // handshake.
  virtual void on_instance_answered(StdioInstance& instance, bool of_call) = 0;
  // It is old, or has had all the calls it may have.
  virtual void on_instance_worn(StdioInstance& instance, std::string_view why) = 0;
  // Its calls have failed; `listens` have not, and may be sent to another process.
  virtual void on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                std::vector<StdioCall*> listens) = 0;
  virtual void on_instance_gone(StdioInstance& instance) = 0;
  // So many more calls, or fewer, are in flight. Must not call back.
  virtual void on_in_flight(int64_t change) = 0;

 protected:
  ~InstanceOwner() = default;
};

// How an instance comes to life.
struct InstancePlan {
  mcp::Era era = mcp::Era::modern;
  // Legacy: parameters of an `initialize` that Lineward sends itself. Empty: the client's own `initialize` is
  // the first call (legacy), or there is no handshake (modern).
  std::string initialize_params;
  // What the server asks as soon as it is initialised belongs to no call: it gets none before it has answered
  // a ping.
  bool settles = false;
  // Calls that may ask follow each other here: between two of them the server answers a ping as well.
  bool takes_turns = false;
  // Nobody wants it yet: it is started, and adopted later.
  bool spare = false;
};

class StdioInstance final : public ProcessOwner, public ListenServer {
 public:
  enum class State : uint8_t { starting, handshake, ready, down };

  StdioInstance(net::Loop& loop, net::Spawner& spawner, const config::Server& server, InstanceOwner& owner,
                std::string group, InstancePlan plan);
  ~StdioInstance() { stats_.free_instance(number_); }
  StdioInstance(const StdioInstance&) = delete;
  StdioInstance& operator=(const StdioInstance&) = delete;

  void start();
  State state() const { return state_; }
  bool is_ready() const override { return state_ == State::ready; }
  const std::string& group() const { return group_; }
  const InstanceOwner& owner() const { return *owner_; }
  // A spare gets its purpose.
  void adopt(InstanceOwner& owner, std::string group, InstancePlan plan);
  mcp::Era era() const { return plan_.era; }
  pid_t pid() const { return process_.pid(); }
  uint32_t number() const { return number_; }  // small, used again when it is free
  // May this call be written now?
  bool takes(const StdioCall& call) const;
  size_t in_flight() const { return in_flight_; }
  // Calls during which the server may ask its client something: cancelled ones count until they are answered
  // or their grace is over, so that a late question finds no wrong owner.
  size_t asking() const;
  // The one such call there is; null when there are several, or it was cancelled.
  StdioCall* asking_call() const;
  // Until when such a call that was answered may be meant by a question all the same.
  std::chrono::milliseconds asked_until() const { return asked_until_; }
  // May another such call follow now? Not while what the server says about the last one may be on its way.
  bool settle_turn();
  // A parked call takes no place.
  void set_parked(const StdioCall& call, bool parked);
  // Nothing that a caller waits for; Lineward's own listens keep no process.
  bool idle() const;
  // It is to be replaced; one that retires gets no more calls.
  bool worn() const { return !worn_text_.empty(); }
  bool retiring() const { return retiring_; }
  const std::string& worn_text() const { return worn_text_; }
  void set_worn(std::string_view why, bool retires) {
    worn_text_ = why;
    retiring_ = retires;
  }
  bool has_listens() const;
  bool has_calls() const;  // parked and cancelled ones too
  std::chrono::milliseconds last_used() const { return last_used_; }
  std::chrono::milliseconds started_at() const { return started_at_; }
  // Whether it was ever ready, for the one who learns that it is down.
  bool was_ready() const { return was_ready_; }
  // Whether it ever answered anything: of a modern one being ready says nothing.
  bool has_answered() const { return has_answered_; }
  // Whether it ever answered a call that is a server's work (spawn_budget.h).
  bool has_served() const { return has_served_; }
  // The result of Lineward's own `initialize`, as JSON text; empty before.
  const std::string& initialize_result() const { return initialize_result_.text(); }

  void send(StdioCall& call);
  // What it told of itself in `initialize`; legacy only.
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }
  // A request of Lineward's own (a level, a subscription), with the limit of own_limits.h: it is cancelled
  // then, and `answered`, which may be empty, hears an error.
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered = nullptr) override;
  void write(std::string message);  // flattened to one line
  // The same for what may be dropped: false when the server is far behind with reading.
  bool write_small(std::string message);
  // The answer to a server's own request; one that does not read them is ended.
  void answer_server(std::string message);
  // A modern call's log level: a legacy server has one for all, the lowest that anyone wanted.
  void want_level(const StdioCall& call);
  // Takes the call out of the table and tells the server, once.
  void cancel(StdioCall& call, std::string_view why);
  void stop(const ProcessEnd& why);

 private:
  // A cancel that is written at the end of the turn, unless the answer is among what the turn brings.
  struct Cancel {
    int64_t id = 0;
    std::string why;
    std::vector<std::string> refusals;  // of its open questions
  };
  struct Pending {
    StdioCall* call = nullptr;  // null: cancelled, or Lineward's own
    bool counts = false;        // takes a place in flight
    bool listen = false;
    bool acknowledged = false;  // a listen
    bool asks = false;
    bool own = false;         // Lineward's own request
    bool of_gateway = false;  // a call, and no client's
    bool own_initialize = false;
    bool own_discover = false;  // with which a modern process shows that it is there
    OwnAnswer own_answer;
    std::chrono::milliseconds due{0};  // of Lineward's own; 0: another limit runs, or it is over
    // Of a cancelled one.
    uint64_t tag = 0;
    std::chrono::milliseconds cancelled_at{0};
    core::CancelTold told = core::CancelTold::nothing;
    bool cancelled = false;
  };
  using Table = std::map<int64_t, Pending, std::less<>, SlabAllocator<std::pair<const int64_t, Pending>>>;

  void on_process_started() override;
  void on_process_line(json::Text line) override;
  void on_process_down(const ProcessEnd& end) override;
  void on_process_gone() override;
  void on_process_writable() override { owner_->on_instance_free(*this); }

  void broken_line(const mcp::MessageFault& fault);
  void refuse_malformed(const mcp::MessageFault& fault);
  void fail_broken(int64_t id, const std::string& why);
  void on_response(mcp::Message message);
  void on_request(mcp::Message message);
  void on_notification(mcp::Message message);
  void on_nameless(const mcp::Message& message);
  void handshake_answer(const mcp::Message& message);
  void became_ready();
  void drop(std::string_view kind);
  void note_answer(bool of_call);
  void limit_startup();
  Table::iterator find(std::string_view raw_id);
  StdioCall* only_call() const;
  StdioCall* owner_of_unnamed() const;
  void note_end(const Pending& pending);
  void write_cancels();
  void forget(Table::iterator entry);
  void refuse_open(std::vector<std::string> refusals);
  void count(int64_t change) {
    in_flight_ += static_cast<size_t>(change);
    owner_->on_in_flight(change);
  }
  void sweep_cancelled();
  void remember_cancelled(int64_t id);
  void limit_own(std::chrono::milliseconds limit);
  void cancel_own();
  void settle(const Pending& entry, core::CancelOutcome outcome);
  void late_answer(const Pending& pending, const mcp::Message& message);
  void count_start();

  net::Loop& loop_;
  const config::Server& server_;
  InstanceOwner* owner_;
  core::UpstreamStats& stats_;
  const uint32_t number_;
  std::string group_;
  InstancePlan plan_;
  StdioProcess process_;
  State state_ = State::starting;
  NodeSlabs nodes_;
  Table pending_{Table::allocator_type(nodes_)};
  int64_t next_id_ = 1;
  size_t in_flight_ = 0;
  KeptText initialize_result_;
  mcp::LegacyServer legacy_server_;
  HeldBytes legacy_server_bytes_;
  int level_ = 8;  // the lowest log level asked of a legacy server by modern calls; 8: none yet
  std::chrono::milliseconds last_used_{0};
  std::chrono::milliseconds started_at_{0};
  bool was_ready_ = false;
  bool has_answered_ = false;
  bool has_served_ = false;
  std::string revision_;  // of a legacy one, once it is ready
  // Calls that were answered may be meant, for a while, by what names no call: until when, of all and of
  // those that may ask.
  std::chrono::milliseconds answered_until_{0};
  std::chrono::milliseconds asked_until_{0};
  bool unsettled_ = false;  // such a call was answered, and no ping since
  bool settling_ = false;
  bool answers_pings_ = true;
  std::vector<Cancel> cancels_;
  net::Deferred cancel_later_;
  // Cancelled calls that may still be answered: until when we remember them.
  std::deque<std::pair<std::chrono::milliseconds, int64_t>> cancelled_;
  net::Timer cancel_timer_;
  net::Timer own_timer_;  // rings when a request of Lineward's own may be due
  std::chrono::milliseconds own_rings_at_{0};
  net::Timer startup_timer_;
  net::Timer lifetime_timer_;
  uint64_t served_ = 0;
  std::string worn_text_;
  bool retiring_ = false;
  bool process_up_ = false;
  net::Timer settle_timer_;
};

}  // namespace lineward::upstream

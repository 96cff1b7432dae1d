// A process of a stdio server, from its start to its exit. It has one era for life. It sends calls and
// Lineward's own requests, and finds the call of each message that names one (behaviour.md 3, 5 and 13).
// InstanceCalls assigns its ids; StdioProcess has its pipes.
//
// Owned by its InstanceGroup until it is down, then by InstanceGroups, which retires it when its process has
// exited.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/counted_string.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/stdio/instance_calls.h"
#include "proxy/upstream/stdio/stdio_health.h"
#include "proxy/upstream/stdio/stdio_process.h"

namespace lineward::upstream {

class StdioInstance;

class InstanceCallbacks {
 public:
  // Lineward's own handshake is over; the process takes calls.
  virtual void on_instance_ready(StdioInstance& /*instance*/) {}
  // A place became free, or the pipe has been drained.
  virtual void on_instance_free(StdioInstance& /*instance*/) {}
  // A legacy server's request, or a notification that names no call.
  virtual void on_instance_message(StdioInstance& /*instance*/, mcp::Message /*message*/) {}
  // The answer to the client's own `initialize`, about to be forwarded.
  virtual void on_instance_initialized(const mcp::Message& /*answer*/) {}
  // The answer to Lineward's own `server/discover`. False: the process is being ended.
  virtual bool is_wanted(const mcp::Message& /*discovered*/) { return true; }
  // It answered for the first time.
  virtual void on_instance_answered(HealthSignal /*what*/) {}
  // It has reached its maximum age, or number of calls.
  virtual void on_instance_expired(StdioInstance& instance, std::string_view why) = 0;
  // Its calls have failed; `listens` have not, and may be sent to another process.
  virtual void on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                std::vector<StdioCall*> listens) = 0;
  virtual void on_instance_gone(StdioInstance& instance) = 0;

 protected:
  ~InstanceCallbacks() = default;
};

// How an instance starts.
struct InstancePlan {
  mcp::Era era = mcp::Era::modern;
  // Legacy: the parameters of an `initialize` that Lineward sends. Empty: the client's own `initialize` is
  // the first call (legacy), or there is no handshake (modern).
  std::string initialize_params = {};
  // The process gets no call before it has answered a ping: requests that the server sends right after
  // `initialize` belong to no call.
  bool settles = false;
  // Calls that allow server requests run one after another, with a ping between two of them.
  bool takes_turns = false;
  // Started without a group, to be adopted later.
  bool spare = false;
  config::Identity::Map about_caller = {};  // variables about its only caller
};

// Whether a process must be replaced, and why.
struct InstanceExpiry {
  std::string why;       // empty: no
  bool retires = false;  // it gets no more calls
  bool is_expired() const { return !why.empty(); }
};

class StdioInstance final : public ProcessCallbacks, public ListenServer {
 public:
  enum class State : uint8_t { starting, handshake, ready, down };

  // `in_flight`: the number of calls in flight, over all processes.
  StdioInstance(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                InstanceCallbacks& owner, size_t& in_flight, std::string group, InstancePlan plan);
  ~StdioInstance() { stats_.free_instance(number_); }

  void start();
  // A spare gets its group.
  void adopt(InstanceCallbacks& owner, std::string group, InstancePlan plan);
  void stop(const ProcessEnd& why);

  State state() const { return state_; }
  bool is_ready() const override { return state_ == State::ready; }
  const std::string& group() const { return group_; }
  const InstanceCallbacks& owner() const { return *owner_; }
  mcp::Era era() const { return plan_.era; }
  pid_t pid() const { return process_.pid(); }
  // Adds its process, if it runs, for operators.
  void list(std::vector<core::UpstreamStatus::Process>& out) const;
  InstanceCalls& calls() { return calls_; }
  const InstanceRecord& record() const { return record_; }
  InstanceExpiry& expiry() { return expiry_; }
  LowestLogLevel& level() { return level_; }
  // The result of Lineward's own `initialize`, as JSON text; empty before.
  const std::string& initialize_result() const { return initialize_result_.text(); }
  // The server's own data from `initialize`; legacy only.
  const mcp::LegacyServer& legacy_server() const override { return legacy_server_; }

  // May this call be written now?
  bool takes(const StdioCall& call) const;
  // May another call that allows requests follow now? Not while messages about the last call may still
  // arrive: a ping is sent, and its answer reports a free place. A server that does not answer pings still
  // gets calls.
  bool acquire_turn();
  void send(StdioCall& call);
  // Removes the call, which is over for its client, from the table. The server is notified once, at the end
  // of the turn: a call answered in the same turn is not cancelled.
  void cancel(StdioCall& call, std::string_view why);
  // A request that takes longer than its limit (own_limits.h) is cancelled, and its callback gets an error.
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered = nullptr) override;
  void write(std::string message);  // flattened to one line
  // The same for messages that may be dropped: false if the server's unread backlog is too large.
  bool write_small(std::string message);
  // The answer to a server's own request. A server that does not read its answers is ended.
  void answer_server(std::string message);
  // A line of the server was useless to all clients.
  void note_useless() { ++useless_; }

 private:
  // ProcessCallbacks
  void on_process_started() override;
  void on_process_line(json::Text line) override;
  void on_process_down(const ProcessEnd& end) override;
  void on_process_gone() override;
  void on_process_writable() override { tell_free(); }

  void tell_free() { owner_->on_instance_free(*this); }
  bool is_modern() const { return plan_.era == mcp::Era::modern; }
  // Starts pool.maxLifetime.
  void age();

  // The start: for a spare, from its adoption. A legacy process gets Lineward's own `initialize`, or the
  // client's. A modern process has no handshake, and gets a request that every server must answer.
  void limit_start();
  void begin();
  // The client's own `initialize` may be written.
  bool awaits_client() const {
    return state_ == State::handshake && !is_modern() && plan_.initialize_params.empty();
  }
  void initialized(const mcp::Message& answer);
  void settle_first();
  void become_ready();
  void note_ready();

  // Messages.
  void read(json::Text line);
  void note_answered(HealthSignal what);
  void broken_line(const mcp::MessageFault& fault);
  void response(mcp::Message&& message);
  void pass_answer(StdioCall& call, mcp::Message&& message);
  void broken_answer(const PendingCall& entry, const std::string& why);
  void request(mcp::Message message);
  void notification(mcp::Message message);
  void of_listens(const mcp::Message& message);
  void end_listen(mcp::Message message);
  // Delivers to the call of this entry; false if it cannot be the addressee.
  bool deliver(PendingCall* entry, mcp::Message& message);
  void drop(std::string_view kind, std::string_view id = {});

  // Cancelled calls (behaviour.md 3). After `timeouts.cancelGrace` without an answer the id is forgotten, or
  // the process ended (`cancel: kill`). A slow server that still reads its stdin gets several graces.
  struct Cancel {
    int64_t id = 0;
    std::string why;
    std::vector<std::string> refusals;  // of its open questions
  };
  // A cancelled call that may still be answered.
  struct Remembered {
    int64_t id = 0;
    uint64_t taken = 0;  // bytes that the server had read from its stdin at the last look
    int looks = 0;
  };
  void write_cancels();
  // Answers the server's open requests of a call that is over with errors.
  void refuse(std::vector<std::string> refusals);
  void remember(int64_t id);
  void forget_ignored();
  // The cancel may be among the unread bytes, and the server still reads.
  bool still_reads(Remembered& one) const;
  void late_answer(const PendingCall& entry, const mcp::Message& message);
  // Reports the outcome of a cancel; does nothing for an entry that is not cancelled.
  void settle(const PendingCall& entry, metrics::CancelOutcome outcome);

  void cancel_late_own();

  // A timer for the first of several times.
  struct Alarm {
    net::Timer timer;
    std::chrono::milliseconds at{0};
  };
  void ring(Alarm& alarm, std::chrono::milliseconds due, std::function<void()> then);

  net::Loop& loop_;
  const config::Server& server_;
  InstanceCallbacks* owner_;
  metrics::UpstreamStats& stats_;
  const uint32_t number_;  // small, reused when free
  std::string group_;
  InstancePlan plan_;
  StdioProcess process_;
  InstanceCalls calls_;
  InstanceRecord record_;
  State state_ = State::starting;
  bool process_up_ = false;
  CountedString initialize_result_{Held::servers};
  mcp::LegacyServer legacy_server_;
  MemoryCharge legacy_server_bytes_{Held::servers};
  std::string revision_;  // of a legacy process, once it is ready
  LowestLogLevel level_;
  InstanceExpiry expiry_;
  uint64_t sent_ = 0;     // clients' calls, without listens
  uint64_t useless_ = 0;  // lines, not passed on yet
  std::vector<Cancel> cancels_;
  net::Deferred write_later_;
  // By the time at which they are forgotten; a reload changes that time.
  std::multimap<std::chrono::milliseconds, Remembered> remembered_;
  Alarm forget_{net::Timer(loop_)};  // one of these may be due
  Alarm own_{net::Timer(loop_)};     // one of Lineward's own requests may be late
  bool pinging_ = false;
  bool answers_pings_ = true;
  net::Timer ping_timer_{loop_};
  net::Timer start_timer_{loop_};
  net::Timer adopted_timer_{loop_};
  net::Timer lifetime_timer_{loop_};
};

}  // namespace lineward::upstream

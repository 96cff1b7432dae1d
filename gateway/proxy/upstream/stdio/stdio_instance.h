// A process of a stdio server. It has one era for life: its handshake, and the calls sent to it (behaviour.md
// 5). InstanceInbox reads its messages, InstanceCalls assigns its ids.
//
// Owned by its InstanceGroup until it is down, then by InstanceGroups, which retires it when its process has
// exited.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/upstream/shared/legacy_facade.h"
#include "proxy/upstream/stdio/instance_inbox.h"
#include "proxy/upstream/stdio/instance_requests.h"
#include "proxy/upstream/stdio/stdio_handshake.h"
#include "proxy/upstream/stdio/stdio_process.h"

namespace lineward::upstream {

class StdioInstance;

class InstanceCallbacks : public InFlightCallbacks {
 public:
  virtual void on_instance_ready(StdioInstance& instance) = 0;
  // A place became free, or the pipe has been drained.
  virtual void on_instance_free(StdioInstance& instance) = 0;
  // A server's request, or a notification that names no call. `only`: the only call it can belong to, if
  // there is exactly one.
  virtual void on_instance_message(StdioInstance& instance, mcp::Message message, StdioCall* only) = 0;
  // The answer to the client's own `initialize`, about to be forwarded.
  virtual void on_instance_initialized(StdioInstance& instance, const mcp::Message& answer) = 0;
  // It answered for the first time.
  virtual void on_instance_answered(StdioInstance& instance, Heard what) = 0;
  // It has reached its maximum age, or number of calls.
  virtual void on_instance_expired(StdioInstance& instance, std::string_view why) = 0;
  // Its calls have failed; `listens` have not, and may be sent to another process.
  virtual void on_instance_down(StdioInstance& instance, const ProcessEnd& end,
                                std::vector<StdioCall*> listens) = 0;
  virtual void on_instance_gone(StdioInstance& instance) = 0;

 protected:
  ~InstanceCallbacks() = default;
};

// Whether a process must be replaced, and why.
struct InstanceExpiry {
  std::string why;       // empty: no
  bool retires = false;  // it gets no more calls
  bool is_expired() const { return !why.empty(); }
};

class StdioInstance final : public ProcessCallbacks,
                            public ListenServer,
                            public InstanceWire,
                            public InboxCallbacks,
                            public HandshakeCallbacks {
 public:
  using State = StdioHandshake::State;

  StdioInstance(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                InstanceCallbacks& owner, std::string group, InstancePlan plan);
  ~StdioInstance() { stats_.free_instance(number_); }
  StdioInstance(const StdioInstance&) = delete;
  StdioInstance& operator=(const StdioInstance&) = delete;

  void start();
  // A spare gets its group.
  void adopt(InstanceCallbacks& owner, std::string group, InstancePlan plan);
  void stop(const ProcessEnd& why) override;

  State state() const { return handshake_.state(); }
  bool is_ready() const override { return state() == State::ready; }
  const std::string& group() const { return group_; }
  const InstanceCallbacks& owner() const { return *owner_; }
  mcp::Era era() const override { return plan_.era; }
  pid_t pid() const { return process_.pid(); }
  // Adds its process, if it runs, for operators.
  void list(std::vector<core::UpstreamStatus::Process>& out) const;
  InstanceCalls& calls() { return calls_; }
  const InstanceRecord& record() const { return record_; }
  InstanceExpiry& expiry() { return expiry_; }
  // The result of Lineward's own `initialize`, as JSON text; empty before.
  const std::string& initialize_result() const { return handshake_.initialize_result(); }
  // The server's own data from `initialize`; legacy only.
  const mcp::LegacyServer& legacy_server() const override { return handshake_.legacy_server(); }

  // May this call be written now?
  bool takes(const StdioCall& call) const;
  // May another call that allows requests follow now? Not while messages about the last call may still
  // arrive.
  bool acquire_turn() { return !plan_.takes_turns || pings_.acquire_turn(is_ready()); }
  void send(StdioCall& call);
  // Removes the call from the table and notifies the server, once.
  void cancel(StdioCall& call, std::string_view why);
  LowestLogLevel& level() { return level_; }
  void send_own(std::string_view method, std::string_view params, OwnAnswer answered = nullptr) override {
    requests_.send(method, params, std::move(answered));
  }
  void write(std::string message) override;
  bool write_small(std::string message) override;
  void answer_server(std::string message) override;

 private:
  // ProcessCallbacks
  void on_process_started() override { handshake_.process_started(); }
  void on_process_line(json::Text line) override {
    inbox_.read(std::move(line));
    process_.count_useless(calls_.take_useless());
  }
  void on_process_down(const ProcessEnd& end) override;
  void on_process_gone() override;
  void on_process_writable() override { tell_free(); }
  // InstanceWire
  StdinState stdin_state() const override { return {process_.backlog(), process_.taken()}; }
  void tell_free() override { owner_->on_instance_free(*this); }
  // InboxCallbacks
  void on_message() override { record_.last_used = loop_.now(); }
  void on_heard(Heard what) override;
  void on_answer(PendingCall&& entry, mcp::Message&& message) override;
  void on_broken_answer(PendingCall entry, const std::string& why) override;
  void on_unclaimed(mcp::Message message, StdioCall* only) override {
    owner_->on_instance_message(*this, std::move(message), only);
  }
  bool is_down() const override { return state() == State::down; }
  // HandshakeCallbacks
  void on_handshake_done() override { owner_->on_instance_ready(*this); }

  void pass_answer(StdioCall& call, mcp::Message&& message);
  // Starts pool.maxLifetime.
  void age();

  net::Loop& loop_;
  const config::Server& server_;
  InstanceCallbacks* owner_;
  metrics::UpstreamStats& stats_;
  const uint32_t number_;  // small, reused when free
  std::string group_;
  InstancePlan plan_;
  StdioProcess process_;
  InstanceCalls calls_{loop_, server_, *owner_};
  InstanceCancels cancels_{loop_, server_, calls_, *this};
  OwnRequests requests_{loop_, server_, calls_, cancels_, *this};
  PingBarrier pings_{loop_, calls_, requests_, *this};
  InstanceInbox inbox_{server_, calls_, *this, *this};
  InstanceRecord record_;
  StdioHandshake handshake_{loop_, server_, plan_, record_, calls_, pings_, *this, *this};
  LowestLogLevel level_;
  InstanceExpiry expiry_;
  net::Timer lifetime_timer_;
  uint64_t sent_ = 0;  // clients' calls, without listens
};

}  // namespace lineward::upstream

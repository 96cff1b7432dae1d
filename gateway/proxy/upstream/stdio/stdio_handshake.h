// The start of one process of a stdio server, until it takes calls; for a spare, from its adoption. A legacy
// process gets Lineward's own `initialize`, or the client's. A modern process has no handshake, and gets a
// request that every server must answer.
//
// Belongs to a StdioInstance, and works on its plan and record.
#pragma once

#include <chrono>
#include <string>

#include "foundation/base/counted_string.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/upstream/stdio/ping_barrier.h"

namespace lineward::upstream {

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
};

// Proof that a process has given so far.
struct InstanceRecord {
  std::chrono::milliseconds started_at{0};
  std::chrono::milliseconds last_used{0};
  bool was_ready = false;
  bool has_answered = false;  // anything; being ready says nothing about a modern one
  bool has_served = false;    // a call that is real work (spawn_budget.h)
};

class HandshakeCallbacks {
 public:
  // Lineward's own handshake is over; the process takes calls.
  virtual void on_handshake_done() = 0;

 protected:
  ~HandshakeCallbacks() = default;
};

class StdioHandshake {
 public:
  enum class State : uint8_t { starting, handshake, ready, down };

  StdioHandshake(net::Loop& loop, const config::Server& server, InstancePlan& plan, InstanceRecord& record,
                 InstanceCalls& calls, PingBarrier& pings, InstanceWire& wire, HandshakeCallbacks& owner);
  StdioHandshake(const StdioHandshake&) = delete;
  StdioHandshake& operator=(const StdioHandshake&) = delete;

  State state() const { return state_; }
  // The process is started now.
  void starts();
  // A spare is adopted now.
  void adopted();
  void process_started();
  void process_down();

  // A group waits for the process to be ready.
  bool is_under_way() const;
  // May the client's own `initialize` be written now?
  bool awaits_client() const;
  // Takes the answer to that. True if it is one.
  bool take_client_answer(mcp::Method method, const mcp::Message& answer);
  // The answer to Lineward's own handshake.
  void take_answer(const mcp::Message& answer);
  // A modern process has answered: it runs.
  void became_ready();

  // The result of Lineward's own `initialize`, as JSON text; empty before.
  const std::string& initialize_result() const { return initialize_result_.text(); }
  const mcp::LegacyServer& legacy_server() const { return legacy_server_; }
  // The revision of a legacy process, once it is ready.
  const std::string& revision() const { return revision_; }

 private:
  void limit();
  void begin();
  void note_ready();

  const config::Server& server_;
  net::Loop& loop_;
  metrics::UpstreamStats& stats_;
  InstancePlan& plan_;
  InstanceRecord& record_;
  InstanceCalls& calls_;
  PingBarrier& pings_;
  InstanceWire& wire_;
  HandshakeCallbacks& owner_;
  State state_ = State::starting;
  CountedString initialize_result_{Held::servers};
  mcp::LegacyServer legacy_server_;
  MemoryCharge legacy_server_bytes_{Held::servers};
  std::string revision_;
  net::Timer limit_timer_;
  net::Timer adopted_timer_;
  bool process_up_ = false;
};

}  // namespace lineward::upstream

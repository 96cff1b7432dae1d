// How one process of a stdio server comes up: from its start, or from the moment in which a spare is wanted,
// until it takes calls. Lineward's own `initialize` with what it told, or the client's own that passes; a
// modern one, which has no handshake, is asked for what every one must answer.
//
// Belongs to a StdioInstance, whose plan and record it works on.
#pragma once

#include <chrono>
#include <string>

#include "base/kept_text.h"
#include "mcp/legacy_server.h"
#include "upstream/stdio/settling_pings.h"

namespace lineward::upstream {

// How an instance comes to life.
struct InstancePlan {
  mcp::Era era = mcp::Era::modern;
  // Legacy: parameters of an `initialize` that Lineward sends itself. Empty: the client's own `initialize` is
  // the first call (legacy), or there is no handshake (modern).
  std::string initialize_params = {};
  // What the server asks as soon as it is initialised belongs to no call: it gets none before it has answered
  // a ping.
  bool settles = false;
  // Calls that may ask follow each other here: between two of them the server answers a ping as well.
  bool takes_turns = false;
  // Nobody wants it yet: it is started, and adopted later.
  bool spare = false;
};

// What a process has shown of itself so far.
struct InstanceRecord {
  std::chrono::milliseconds started_at{0};
  std::chrono::milliseconds last_used{0};
  bool was_ready = false;
  bool has_answered = false;  // anything: of a modern one being ready says nothing
  bool has_served = false;    // a call that is a server's work (spawn_budget.h)
};

class HandshakeOwner {
 public:
  // Lineward's own handshake is over; the process takes calls.
  virtual void on_handshake_done() = 0;

 protected:
  ~HandshakeOwner() = default;
};

class StdioHandshake {
 public:
  enum class State : uint8_t { starting, handshake, ready, down };

  StdioHandshake(net::Loop& loop, const config::Server& server, InstancePlan& plan, InstanceRecord& record,
                 InstanceCalls& calls, SettlingPings& pings, InstanceWire& wire, HandshakeOwner& owner);
  StdioHandshake(const StdioHandshake&) = delete;
  StdioHandshake& operator=(const StdioHandshake&) = delete;

  State state() const { return state_; }
  // The process is started now.
  void starts();
  // A spare is wanted now.
  void adopted();
  void process_started();
  void process_down();

  // Somebody waits for the process to be ready.
  bool is_under_way() const;
  // May the client's own `initialize` be written now?
  bool awaits_client() const;
  // The answer to that. True when it is one.
  bool take_client_answer(mcp::Method method, const mcp::Message& answer);
  // The answer to Lineward's own.
  void take_answer(const mcp::Message& answer);
  // A modern one has said something: it is there.
  void became_ready();

  // The result of Lineward's own `initialize`, as JSON text; empty before.
  const std::string& initialize_result() const { return initialize_result_.text(); }
  const mcp::LegacyServer& legacy_server() const { return legacy_server_; }
  // Of a legacy one, once it is ready.
  const std::string& revision() const { return revision_; }

 private:
  void limit();
  void begin();
  void note_ready();

  const config::Server& server_;
  net::Loop& loop_;
  core::UpstreamStats& stats_;
  InstancePlan& plan_;
  InstanceRecord& record_;
  InstanceCalls& calls_;
  SettlingPings& pings_;
  InstanceWire& wire_;
  HandshakeOwner& owner_;
  State state_ = State::starting;
  KeptText initialize_result_{Held::servers};
  mcp::LegacyServer legacy_server_;
  HeldBytes legacy_server_bytes_{Held::servers};
  std::string revision_;
  net::Timer limit_timer_;
  net::Timer adopted_timer_;
  bool process_up_ = false;
};

}  // namespace lineward::upstream

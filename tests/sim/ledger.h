// The history of every call, as its client, its server and the wires between them saw it, and its invariants.
// A new invariant belongs into judge() (README.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan.h"
#include "world.h"

namespace lineward::sim {

// A call as it was given to a server.
struct Attempt {
  Time received = -1;     // by the server
  Time sent = -1;         // by the gateway: when the first byte was written
  bool was_full = false;  // it had to wait for room then, or before
  size_t server = 0;
  bool http = false;
  Time answered = -1;     // the final answer was written
  Time answer_read = -1;  // and the gateway has read it to its end
  int cancels = 0;        // told by message (stdio, legacy HTTP)
  Time cancel_sent = -1;
  Time cancel_received = -1;
  bool closed = false;  // HTTP: the gateway closed the stream of the answer before its end
  Time closed_at = -1;
  Time died = -1;             // the process or the connection, by itself
  bool asked = false;         // a modern server: its answer was a question
  bool refused = false;       // was never run (404 of a session)
  bool may_be_asked = false;  // said with it: a modern client that declares so
};

struct CallRecord {
  const CallPlan* plan = nullptr;
  size_t client = 0;
  bool modern = true;
  std::shared_ptr<Link> link;  // on which it was sent
  std::string remote, raw_id;  // as the gateway's log names it
  Time begun = -1;
  Time sent = -1;            // the whole request was written
  Time left = -1;            // the client closed, or wrote its cancel
  Time left_read = -1;       // the gateway has learned of it
  bool left_unread = false;  // before it had read the call: in the same turn, perhaps
  bool left_by_message = false;
  bool request_cut = false;
  size_t request_bytes = 0;  // of the message that it came in
  Time ended = -1;
  std::string outcome;  // "result", "error CODE REASON", "tool_error", "status N", "empty", "cut"
  int answers = 0;
  bool parked = false;       // a modern client has to come back with answers
  bool was_parked = false;   // by the question of another call, perhaps
  bool left_parked = false;  // and does not
  int told_progress = 0;     // by its server
  size_t goes_on_at = 0;     // in the plan, when a modern server is called again
  int progress = 0;
  std::vector<std::unique_ptr<Attempt>> attempts;
  std::function<void(Time at)> leaves_at;  // its client goes when its answer comes, which is then
};

class Ledger {
 public:
  Ledger(World& world, const Plan& plan) : world_(world), plan_(plan) {}

  CallRecord& begin(const CallPlan& call, size_t client, bool modern);
  CallRecord* find(const std::string& tag);
  std::map<std::string, CallRecord>& calls() { return calls_; }

  // The session of each client that has one.
  std::map<size_t, std::string>& sessions() { return sessions_; }

  // A promise that does not hold. The first one counts.
  void violation(const std::string& what, const std::string& details);
  bool failed() const { return !violations_.empty(); }
  struct Violation {
    Time at;
    std::string what, details;
  };
  const std::vector<Violation>& violations() const { return violations_; }

  // Whatever reaches a client: only its own tags may be in it.
  void check_client(size_t client, std::string_view text);
  // A server that goes on with a cancelled call, and asks when `timeouts.cancelGrace` is long over: its
  // question names no client (docs/behaviour.md 8).
  bool asked_too_late(const std::string& tag);

  // When all is over.
  void judge();
  bool drained = false;
  Time drained_at = -1;

 private:
  void judge_call(const CallRecord& record);
  void judge_leave(const CallRecord& record, const Attempt& attempt);
  Time passing(size_t bytes = 0) const;
  bool peers_fell_silent() const;
  size_t sessions_near(Time then) const;
  bool is_forbidden(const CallRecord& record) const;
  void judge_queue(size_t server);
  void judge_rate(size_t server);
  bool waits_for_batch(const CallRecord& record) const;
  void judge_time(const CallRecord& record);
  void judge_places(size_t server);
  void judge_calm(const CallRecord& record);
  void judge_log();
  World& world_;
  const Plan& plan_;
  std::map<std::string, CallRecord> calls_;
  std::map<size_t, std::string> sessions_;
  std::vector<Violation> violations_;
};

// The texts that are carried through unchanged.
std::string arguments_of(const CallPlan& call);
std::string content_of(const CallPlan& call);
// The tag in a text, or empty.
std::string tag_in(std::string_view text);

}  // namespace lineward::sim

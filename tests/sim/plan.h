// One world before it begins: what there is, who does what when, and what goes wrong. Drawn from the seed as
// plain data, so that a failing world can be made smaller by leaving parts out (shrink.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "world.h"

namespace lineward::sim {

// What a server does with one call, in this order.
struct Op {
  // wait, progress, result, error (JSON-RPC), tool error, hang for ever, die, close the stream (HTTP),
  // garbage, the answer a second time
  enum class Kind : char {
    wait = 'w',
    progress = 'p',
    result = 'r',
    error = 'e',
    tool_error = 't',
    hang = 'h',
    die = 'x',
    close = 'c',
    garbage = 'g',
    again = '2',
    question = 'q'
  };
  Kind kind;
  Time wait = 0;
};

// How a client ends a call before its answer.
enum class Leave : uint8_t { stay, fin, reset, message };

struct CallPlan {
  std::string tag;  // "T3.14.": in all that is said on its behalf
  size_t server = 0;
  Time at = 0;
  std::vector<Op> ops;
  bool obeys_cancel = true;
  bool wants_progress = false;
  bool fresh_connection = false;
  size_t padding = 0;  // bytes of arguments and of the result
  Leave leave = Leave::stay;
  Time leave_after = 0;         // since it was begun
  int64_t cut_request_at = -1;  // after so many bytes of the request
  Time slow_reader = 0;         // reads nothing for so long
  Time answer_after = 0;        // the server's questions
  bool never_answers = false;
  bool asks() const {
    for (const Op& op : ops) {
      if (op.kind == Op::Kind::question) return true;
    }
    return false;
  }
  bool dropped = false;  // by the shrinker
};

struct ClientPlan {
  bool modern = true;
  std::string version = "2026-07-28";
  size_t server = 0;      // a legacy client has a session with this one
  bool together = false;  // at the path of all servers as one
  bool deletes_session = true;
  bool can_be_asked = false;  // declares elicitation
  std::vector<CallPlan> calls;
  // It listens to the server for a while: to a resource whose URI has its tag in it, and to changes of lists.
  Time listens_at = -1;
  Time listens_for = 0;
  bool listens_dropped = false;
  bool dropped = false;
};

struct ServerPlan {
  std::string name;
  bool http = false;
  bool modern = true;
  bool events = false;  // HTTP: answers as event streams
  bool chunked = false;
  bool sessions = true;            // legacy HTTP
  bool get_stream = true;          // likewise
  std::vector<Time> pulses;        // when it tells all who listen
  bool dies_of_the_probe = false;  // legacy stdio: server/discover
  Time start = 5 * kMillisecond;
  Time exit_delay = kMillisecond;
  bool ignores_term = false;
  bool ignores_end = false;  // of its stdin
};

struct FaultPlan {
  enum class Kind : uint8_t { kill, refuse, silence, reset, stall, jump, reload } kind = Kind::kill;
  size_t server = 0;
  Time at = 0;
  Time length = 0;
  unsigned how =
      0;  // of a reload: nothing has changed, a limit, the server is another, it is removed (and comes back)
  bool dropped = false;
};

struct Plan {
  uint64_t seed = 0;
  bool calm = false;  // nothing goes wrong and nobody leaves: every call must succeed
  config::Config config;
  std::vector<ServerPlan> servers;
  std::vector<ClientPlan> clients;
  std::vector<FaultPlan> faults;
  Time drain_at = -1;  // in the middle of it
  Time last = 0;       // when the last thing begins
};

Plan draw_plan(uint64_t seed);
std::string describe(const Plan& plan);

}  // namespace lineward::sim

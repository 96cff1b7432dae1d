// A world before it begins: its parts, their actions with their times, and its faults. Drawn from the seed as
// plain data, so that a failing world can be made smaller by leaving parts out (run.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "world.h"

namespace lineward::sim {

// The steps of a server with one call, in order.
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
  bool reads_only = false;  // the tool that may be called twice
  Time at = 0;
  std::vector<Op> ops;
  bool obeys_cancel = true;
  bool wants_progress = false;
  bool fresh_connection = false;
  size_t padding = 0;  // bytes of arguments and of the result
  size_t more_in_result = 0;
  Leave leave = Leave::stay;
  Time leave_after = 0;           // since it was begun
  bool leaves_at_answer = false;  // so that both reach the gateway at the same moment
  bool is_probe = false;          // at the end: whether the server is served as ever
  int64_t cut_request_at = -1;    // after so many bytes of the request
  Time slow_reader = 0;           // reads nothing for so long
  Time answer_after = 0;          // the server's questions
  bool never_answers = false;
  bool names_no_string = false;  // the tool's name is a number
  int batch = 0;                 // of a 2025-03-26 client: in one message with all that have this number
  bool asks() const {
    for (const Op& op : ops) {
      if (op.kind == Op::Kind::question) return true;
    }
    return false;
  }
  bool dropped = false;  // by the shrinker
};

// A client that asks where it has no business: nothing of it may be served.
struct Stray {
  // Its session at the path of another server; the session of another principal at its own path; a request in
  // the body of a GET or DELETE, which has none.
  enum class Kind : uint8_t { elsewhere, anothers, body } kind = Kind::elsewhere;
  enum class Verb : uint8_t { ping, remove, get } verb = Verb::ping;
  Time at = 0;
  size_t other = 0;  // the server, or the client
  bool dropped = false;
};

struct ClientPlan {
  bool modern = true;
  std::string version = "2026-07-28";
  size_t server = 0;      // a legacy client has a session with this one
  bool together = false;  // at the path of all servers as one
  bool http2 = false;     // its requests are streams of one connection or two
  bool deletes_session = true;
  bool can_be_asked = false;  // declares elicitation
  int who = 0;                // the number of its key, if clients have keys
  std::vector<CallPlan> calls;
  bool wants_array = false;    // the answers of a batch as one
  std::vector<Time> lists_at;  // when it asks which tools there are
  std::vector<Stray> strays;
  // It listens to the server for a while: to a resource with its tag in the URI, and to changes of lists.
  Time listens_at = -1;
  Time listens_for = 0;
  bool wants_tools = true, wants_prompts = false, wants_resource = true;
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
  size_t origins = 1;              // HTTP: the addresses that it is reached at
  std::vector<Time> pulses;        // when it notifies all listens
  bool tells_all = false;          // also unrequested notifications
  bool describes = false;          // its tools say what they need, and which may be called twice
  int64_t ttl_ms = 0;              // modern: how long its lists may be kept
  bool is_public = false;          // and whether for all callers
  bool dies_of_the_probe = false;  // legacy stdio: server/discover
  Time start = 5 * kMillisecond;
  Time exit_delay = kMillisecond;
  bool ignores_term = false;
  bool ignores_end = false;  // of its stdin
};

struct FaultPlan {
  enum class Kind : uint8_t {
    kill,
    refuse,
    silence,
    reset,
    stall,
    jump,
    reload,
    halt,
    stop,
    nameless,
    slow_name,
    spawnless,
    crowded
  } kind = Kind::kill;
  size_t server = 0;  // or, where one ends at once or in order and begins again later, the replica
  Time at = 0;
  Time length = 0;
  int origin = -1;   // of the server: only this one of its two is struck; -1: all
  unsigned how = 0;  // of a reload: nothing has changed, a limit, the server is another, it is removed (and
                     // comes back), how many calls it may have at once
  bool dropped = false;
  bool is_of_replica() const { return kind == Kind::halt || kind == Kind::stop; }
  // Something happens to that server; where descriptors run out, to all.
  bool strikes(size_t index) const {
    if (!dropped && kind == Kind::crowded) return true;
    return !dropped && server == index && kind != Kind::jump && !is_of_replica();
  }
};

// The rules of the configuration's plugins.
struct Policies {
  // rateLimit of tools/call, for each server: so many at once, and so many in a second.
  int burst = 0;  // 0: there is none
  int per_second = 0;
  int hides_look = -1;      // toolFilter: that tool of this server does not exist
  bool redacts = false;     // redact, on the wire: what servers say of a key
  bool hooks = false;       // hook: a service is asked about every call, and lets it pass
  bool hooks_hear = false;  // and about every answer
  static constexpr const char* kHookAddress = "127.2.0.1:9100";
};

struct Plan {
  uint64_t seed = 0;
  bool calm = false;      // no faults and no leaves: every call must succeed
  bool keys = false;      // clients have API keys
  size_t replicas = 1;    // gateways, which are peers
  bool on_stdio = false;  // there is one client, on the gateway's stdin and stdout
  bool narrow = false;    // there is little memory for what is held, in all and for each client
  Policies policies;
  config::Config config;
  std::vector<ServerPlan> servers;
  std::vector<ClientPlan> clients;
  std::vector<FaultPlan> faults;
  bool replica_ends() const {
    for (const FaultPlan& fault : faults) {
      if (!fault.dropped && fault.is_of_replica()) return true;
    }
    return false;
  }
  bool has(FaultPlan::Kind kind) const {
    for (const FaultPlan& fault : faults) {
      if (!fault.dropped && fault.kind == kind) return true;
    }
    return false;
  }
  Time drain_at = -1;  // in the middle of it
  Time last = 0;       // when the last thing begins
};

// The address and port of a server over HTTP.
std::string address_of_origin(size_t server, size_t origin);

// The credentials of a client, and its name at the gateway.
const char* key_of(int who);

// The share of the memory that a client's bytes count in (proxy/client/http/client_connection.h).
std::string share_of(const Plan& plan, size_t client);

// The address of a replica.
std::string address_of(size_t replica);
Plan draw_plan(uint64_t seed);
// At most two servers, and two clients with three calls each.
bool is_small(uint64_t seed);
// How many calls a server may have at once after a reload that says so.
uint32_t places_after(const FaultPlan& reload);
// Long after the last thing has begun every call must have ended by its limits.
Time limits_of_all(const Plan& plan);
std::string describe(const Plan& plan);

}  // namespace lineward::sim

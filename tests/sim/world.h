// The world in which a gateway runs: its time, what happens next, what is connected to what, and the list of
// what happened. A process has one world at a time. It runs on the thread of the gateway's loop or, with
// several workers, on the present worker's (threads.h).
//
// This file knows no MCP. The other ends of the gateway's connections (clients, servers) are "actors"
// (http_client.h, stdio_server.h, http_server.h) that only see Links.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "joint.h"
#include "link.h"
#include "random.h"
#include "threads.h"

namespace lineward::net {
class ByteStream;
class Listener;
class Loop;
}  // namespace lineward::net
namespace lineward::process {
struct SpawnRequest;
}

namespace lineward::sim {

using Time = int64_t;  // microseconds since the world began
constexpr Time kMillisecond = 1000;
constexpr Time kSecond = 1000 * kMillisecond;

// A process that the gateway started, as its end of the pipes sees it.
class Program {
 public:
  virtual ~Program() = default;
  virtual void started(int64_t pid) = 0;
  virtual void told(char signal) = 0;  // 'T' or 'K'
};

// A process for the gateway's Spawner.
struct Child {
  std::shared_ptr<Link> in, out, err;
  std::shared_ptr<Program> program;
  int home = 0;  // where it was started
  // Set by the gateway's side.
  std::function<void(int64_t pid)> on_started;
  std::function<void(int error)> on_failed;
  std::function<void(int code, int signal)> on_exited;
  std::function<void()> on_gone;
};

struct Told {
  Time at;
  std::string text;
};

class World {
 public:
  explicit World(uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  uint64_t seed() const { return seed_; }
  Time now() const { return now_; }
  void at(Time when, std::function<void()> what);
  void after(Time wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }
  // Something of the gateway's, on the thread that it belongs to.
  void at_home(int home, Time when, std::function<void()> what);
  // There and then, where that is this thread.
  void in_home(int home, std::function<void()> what);
  // The number of the present worker's thread, or kNobody.
  int home() const;
  Threads& threads() { return threads_; }
  // The loop asks for events: time goes on to the next one, or to `deadline`. A few of those that are due at
  // the same time happen in one turn.
  // `woken`: before events are delivered; a caller with a time of its own sets it then.
  void poll(Time deadline, const std::function<void()>& woken = {});
  bool idle() const;
  // The clock runs on while nothing is done: a process that was stopped, a loop held up.
  void jump(Time by) { now_ += by; }

  // ---- descriptors of the gateway: numbers that no kernel knows ----
  int put(std::shared_ptr<Link> link);
  std::shared_ptr<Link> take(int fd);
  size_t descriptors() const { return links_.size(); }

  // ---- names and addresses ----
  struct Host {
    // Called when a connection has come about.
    std::function<void(std::shared_ptr<Link>)> accept;
    bool refuses = false;  // no listener
    bool silent = false;   // no answer at all
    Time delay = 300;      // until it is connected
  };
  // Makes two descriptors with joined links.
  void put_pair(int ends[2]);
  std::map<std::string, Host>& hosts() { return hosts_; }  // by "address:port"
  struct Name {
    std::vector<std::string> addresses;  // empty: there is no such name
    Time delay = kMillisecond;
  };
  std::map<std::string, Name>& names() { return names_; }
  // A listening socket of the gateway.
  struct Door {
    const net::Listener* listener;
    int home;
    std::function<void(std::shared_ptr<Link>)> knock;
  };
  std::map<std::string, std::vector<Door>>& listeners() { return listeners_; }
  // Connects to the gateway; null: no listener there.
  std::shared_ptr<Link> connect(const std::string& address, const std::string& peer, uint64_t number);

  // Connections that this thread was to accept are refused.
  void thread_has_ended(int home);

  // ---- processes ----
  std::function<std::shared_ptr<Program>(const process::SpawnRequest&, std::shared_ptr<Child>)> spawn;
  int64_t next_pid() { return ++last_pid_; }
  size_t& live_children() { return live_children_; }

  // ---- stdin and stdout of the gateway on a thread ----
  struct Std {
    std::shared_ptr<Link> in, out;
  };
  std::map<int, Std>& stdio() { return stdio_; }

  // ---- signals ----
  struct SignalWatcher {
    int signal;
    int home;  // a signal is for one gateway, on its thread
    std::function<void()> told;
  };
  std::vector<SignalWatcher>& signals() { return signals_; }
  void raise(int signal, int home = 0);

  // ---- what happened ----
  bool telling() const { return telling_; }
  void tell_all() { telling_ = true; }
  void tell(std::string text);
  static inline bool tells_bytes = false;  // of every write, too
  const std::vector<Told>& story() const { return story_; }
  void mix(uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3 + static_cast<uint64_t>(now_); }
  void mix(std::string_view bytes);
  uint64_t hash() const { return hash_; }
  std::string& log() { return log_; }
  Time crowded_until = 0;  // the gateway has no descriptor left
  bool is_crowded() const { return now_ < crowded_until; }
  bool calm = false;  // nothing is so slow that a limit could be met
  uint64_t turns = 0;
  size_t open_handles = 0;
  Random& entropy() { return entropy_; }  // what the gateway takes for random

 private:
  struct Event {
    Time at;
    uint64_t number;
    int home;
    std::function<void()> what;
  };
  friend class Threads;
  void put(Event event);
  // The first of those, when it is due.
  bool run_due(std::vector<Event>& events);
  void poll_alone(Time deadline, const std::function<void()>& woken);
  uint64_t seed_;
  Time now_ = 0;
  uint64_t last_event_ = 0;
  // Heaps: of no thread or, with one thread, of all; then of each thread.
  std::vector<std::vector<Event>> events_{1};
  Random order_;
  Random entropy_;
  std::map<int, std::shared_ptr<Link>> links_;
  int last_descriptor_ = 1 << 24;
  std::vector<std::shared_ptr<Joint>> pairs_;
  std::map<std::string, Host> hosts_;
  std::map<std::string, Name> names_;
  std::map<std::string, std::vector<Door>> listeners_;
  struct Knock {
    int home;  // which is to open
    std::shared_ptr<Link> link;
  };
  std::vector<Knock> knocks_;
  std::vector<SignalWatcher> signals_;
  std::map<int, Std> stdio_;
  int64_t last_pid_ = 1000;
  size_t live_children_ = 0;
  bool telling_ = false;
  std::vector<Told> story_;
  uint64_t hash_ = 0xcbf29ce484222325;
  std::string log_;
  Threads threads_{*this};
};

// The one there is, and whether there is one.
World& world();
bool has_world();

}  // namespace lineward::sim

// How people and monitoring ask for a reload, or for a server to start or to stop, and learn what became of
// it. Implemented by the gateway.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::admin {

// One line of what a reload does.
struct PlanRow {
  char mark = '~';     // + added, - removed, ~ changed, ! cannot be changed in a running process
  std::string name;    // of a server, or of a setting
  std::string what;    // "timeouts.request 30s → 2m"
  std::string effect;  // "restarts when its 1 call ends"
};

struct ReloadReport {
  enum class Outcome : uint8_t {
    done,
    rejected,   // the file is bad: nothing has changed
    refused,    // there is nothing to read, or no time for it
    incomplete  // a worker whose loop stands still goes on with what it had: the next reload tries again
  };
  Outcome outcome = Outcome::done;
  bool dry_run = false;
  std::string error;   // one sentence
  std::string report;  // the diagnostics as at the start: of a bad file, or its warnings
  std::vector<PlanRow> rows;
  size_t unchanged = 0;  // servers
  size_t in_flight = 0;  // calls and listens that it did not touch
  int64_t took_ms = 0;
};

struct ReloadCounts {
  bool last_ok = true;
  double last_ok_at = 0;  // Unix time; the start counts
  uint64_t ok = 0, failed = 0;
};

// What an operator wants of one server.
enum class ServerAct : uint8_t {
  start,    // back into service
  stop,     // out of service, its calls are cancelled
  restart,  // a new form takes the place of this one, which ends with its calls, or at once
  drain     // out of service, its calls go on
};

struct ServerActed {
  enum class Outcome : uint8_t {
    done,
    unknown,    // there is no such server
    refused,    // it cannot be, or is so already
    unanswered  // a worker's loop stands still
  };
  Outcome outcome = Outcome::done;
  std::string error;  // one sentence
  size_t calls = 0;   // that the form had which ends
  size_t sessions = 0;
};

class ReloadApi {
 public:
  // Reads the configuration again. `by`: who wanted it, for the log.
  virtual ReloadReport reload(bool dry_run, std::string_view by) = 0;
  virtual const ReloadCounts& counts() const = 0;
  // `force`: a restart does not wait for calls. Lasts until the opposite is asked for, or Lineward ends.
  virtual ServerActed act(const std::string& server, ServerAct act, bool force) = 0;
  // It was stopped or drained by act().
  virtual bool is_held(const std::string& server) const = 0;

 protected:
  ~ReloadApi() = default;
};

}  // namespace lineward::admin

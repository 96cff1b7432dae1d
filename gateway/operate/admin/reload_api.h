// To reload, and to start or stop a server, with the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::admin {

// A change by a reload.
struct PlanRow {
  char mark = '~';     // + added, - removed, ~ changed, ! cannot change in a running process
  std::string name;    // of a server or a setting
  std::string what;    // "timeouts.request 30s → 2m"
  std::string effect;  // "restarts when its 1 call ends"
};

struct ReloadReport {
  enum class Outcome : uint8_t {
    done,
    rejected,   // the file is invalid: nothing has changed
    refused,    // there is nothing to read, or the gateway is stopping
    incomplete  // a worker with a stalled loop kept its configuration: the next reload tries again
  };
  Outcome outcome = Outcome::done;
  bool dry_run = false;
  std::string error;   // one sentence
  std::string report;  // diagnostics as at the start: of an invalid file, or warnings
  std::vector<PlanRow> rows;
  size_t unchanged = 0;  // servers
  size_t in_flight = 0;  // calls and listens that it did not affect
  int64_t took_ms = 0;
};

struct ReloadCounts {
  bool last_ok = true;
  double last_ok_at = 0;  // Unix time; the start counts
  uint64_t ok = 0, failed = 0;
};

// An operator's request for one server.
enum class ServerAct : uint8_t {
  start,    // back into service
  stop,     // out of service, its calls are cancelled
  restart,  // a new version replaces it; the old one ends with its calls, or at once
  drain     // out of service, its calls continue
};

struct ServerActed {
  enum class Outcome : uint8_t {
    done,
    unknown,    // there is no such server
    refused,    // not possible, or already in that state
    unanswered  // a worker's loop is stalled
  };
  Outcome outcome = Outcome::done;
  std::string error;  // one sentence
  size_t calls = 0;   // calls of the version that ends
  size_t sessions = 0;
};

// Set by the gateway, and valid as long as it runs.
struct ReloadControls {
  // Reads the configuration again. `by`: the requester, for the log.
  std::function<ReloadReport(bool dry_run, std::string_view by)> reload;
  std::function<const ReloadCounts&()> counts;
  // `force`: a restart does not wait for calls. Lasts until the opposite request, a reload
  // that removes the server, or until Lineward ends.
  std::function<ServerActed(const std::string& server, ServerAct act, bool force)> act;
  // Whether it was stopped or drained by act().
  std::function<bool(const std::string& server)> is_held;
};

}  // namespace lineward::admin

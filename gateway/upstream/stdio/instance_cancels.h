// The cancelled calls of one process of a stdio server: when the server is told, and how long a late answer
// is waited for (behaviour.md 3).
//
// A cancel is written at the end of the turn: what was answered in the same turn is over, and not cancelled.
// After `timeouts.cancelGrace` without an answer the id is forgotten, or the process ended (`cancel: kill`).
// Belongs to a StdioInstance.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "upstream/stdio/instance_calls.h"
#include "upstream/stdio/instance_wire.h"

namespace lineward::upstream {

class InstanceCancels {
 public:
  InstanceCancels(net::Loop& loop, const config::Server& server, InstanceCalls& calls, InstanceWire& wire);
  InstanceCancels(const InstanceCancels&) = delete;
  InstanceCancels& operator=(const InstanceCancels&) = delete;

  // A client's call, which is over for its client.
  void cancel(StdioCall& call, std::string_view why);
  // One of Lineward's own requests: the server is told now.
  void cancel_own(int64_t id);
  // Those of this turn are written now.
  void write_now();
  // Some are not written yet.
  bool is_owed() const { return !cancels_.empty(); }
  // What the server has asked during a call that is over.
  void refuse(std::vector<std::string> refusals);
  // The answer to one that was not waited for any more.
  void late_answer(const PendingCall& entry, const mcp::Message& message);
  // What became of a cancel; nothing where the entry is no cancelled one's.
  void settle(const PendingCall& entry, core::CancelOutcome outcome);
  // The process is down, and nothing more is told.
  void clear();

 private:
  struct Cancel {
    int64_t id = 0;
    std::string why;
    std::vector<std::string> refusals;  // of its open questions
  };
  void remember(int64_t id);
  void sweep();

  net::Loop& loop_;
  const config::Server& server_;
  core::UpstreamStats& stats_;
  InstanceCalls& calls_;
  InstanceWire& wire_;
  std::vector<Cancel> cancels_;
  net::Deferred write_later_;
  // That may still be answered: until when they are remembered.
  std::deque<std::pair<std::chrono::milliseconds, int64_t>> remembered_;
  net::Timer timer_;
};

}  // namespace lineward::upstream

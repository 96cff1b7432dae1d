// The cancelled calls of one process of a stdio server: when the server is notified, and how long a late
// answer is awaited (behaviour.md 3).
//
// A cancel is written at the end of the turn: a call answered in the same turn is over, and not cancelled.
// After `timeouts.cancelGrace` without an answer the id is forgotten, or the process ended (`cancel: kill`).
// A slow server that still reads its stdin gets several graces. Belongs to a StdioInstance.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/upstream/stdio/instance_calls.h"
#include "proxy/upstream/stdio/instance_wire.h"

namespace lineward::upstream {

class InstanceCancels {
 public:
  InstanceCancels(net::Loop& loop, const config::Server& server, InstanceCalls& calls, InstanceWire& wire);
  InstanceCancels(const InstanceCancels&) = delete;
  InstanceCancels& operator=(const InstanceCancels&) = delete;

  // Cancels a client's call, which is over for its client.
  void cancel(StdioCall& call, std::string_view why);
  // Cancels one of Lineward's own requests: the server is notified now.
  void cancel_own(int64_t id);
  // Writes the cancels of this turn now.
  void write_now();
  // Some cancels are not written yet.
  bool is_owed() const { return !cancels_.empty(); }
  // Answers the server's open requests of a call that is over with errors.
  void refuse(std::vector<std::string> refusals);
  // The answer to a cancelled call.
  void late_answer(const PendingCall& entry, const mcp::Message& message);
  // Reports the outcome of a cancel; does nothing for an entry that is not cancelled.
  void settle(const PendingCall& entry, metrics::CancelOutcome outcome);
  // The process is down; nothing more is reported.
  void clear();

 private:
  struct Cancel {
    int64_t id = 0;
    std::string why;
    std::vector<std::string> refusals;  // of its open questions
  };
  // A cancelled call that may still be answered.
  struct Remembered {
    int64_t id = 0;
    uint64_t taken = 0;  // bytes that the server had read from its stdin at the last look
    int looks = 0;
  };
  void remember(int64_t id);
  void look_at(std::chrono::milliseconds due);
  void sweep();
  // The cancel may be among the unread bytes, and the server still reads.
  bool still_reads(Remembered& one) const;

  net::Loop& loop_;
  const config::Server& server_;
  metrics::UpstreamStats& stats_;
  InstanceCalls& calls_;
  InstanceWire& wire_;
  std::vector<Cancel> cancels_;
  net::Deferred write_later_;
  // By the time at which they are forgotten; a reload changes that time.
  std::multimap<std::chrono::milliseconds, Remembered> remembered_;
  std::chrono::milliseconds looks_at_{0};
  net::Timer timer_;
};

}  // namespace lineward::upstream

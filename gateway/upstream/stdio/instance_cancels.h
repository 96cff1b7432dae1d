// The cancelled calls of one process of a stdio server: when the server is told, and how long a late answer
// is waited for (behaviour.md 3).
//
// A cancel is written at the end of the turn: what was answered in the same turn is over, and not cancelled.
// After `timeouts.cancelGrace` without an answer the id is forgotten, or the process ended (`cancel: kill`).
// A server that is behind with reading, and reads, has a few graces. Belongs to a StdioInstance.
#pragma once

#include <chrono>
#include <map>
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
  // One that may still be answered.
  struct Remembered {
    int64_t id = 0;
    uint64_t taken = 0;  // by the server, of all that was written to it, when this was looked at last
    int looks = 0;
  };
  void remember(int64_t id);
  void look_at(std::chrono::milliseconds due);
  void sweep();
  // What the server has not read yet may be the cancel, and it reads.
  bool still_reads(Remembered& one) const;

  net::Loop& loop_;
  const config::Server& server_;
  core::UpstreamStats& stats_;
  InstanceCalls& calls_;
  InstanceWire& wire_;
  std::vector<Cancel> cancels_;
  net::Deferred write_later_;
  // By when they are forgotten; a reload changes how long that is.
  std::multimap<std::chrono::milliseconds, Remembered> remembered_;
  std::chrono::milliseconds looks_at_{0};
  net::Timer timer_;
};

}  // namespace lineward::upstream

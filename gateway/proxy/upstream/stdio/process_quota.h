// Decides whether one more process of a stdio server may run (`instances`, `listen.maxPrincipalPercent`), and
// which one is ended if all places are taken (docs/isolation.md). Candidates: an idle process without a
// client's state; one of a session that was idle for `sessions.reclaimAfter`; one beyond its caller's share.
// The last resort is the longest parked call of a caller with more parked calls than
// `limits.maxParkedPerCaller`: its process is ended.
//
// A caller may exceed its share while no other caller waits for a process. A process counts for the caller
// that owns it. A shared process counts for the caller of its call, parked or not.
//
// Belongs to a StdioUpstream; counts again in each turn in which places are assigned.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/stdio/instance_groups.h"

namespace lineward::upstream {

// Running processes, ending ones included; processes wanted beyond the limit; `exhausted`: none can be taken
// any more.
struct ProcessCount {
  size_t running = 0, wanted = 0;
  bool exhausted = false;
  struct OfCaller {
    size_t running = 0;
    size_t parked = 0;  // of these, those with only a parked call
    bool exhausted = false;
  };
  std::unordered_map<const Account*, OfCaller> of_caller;
};

class ProcessQuota {
 public:
  ProcessQuota(net::Loop& loop, const config::Server& server, const InstanceGroups& groups,
               const EraProber& prober)
      : loop_(loop), server_(server), groups_(groups), prober_(prober) {}
  ProcessQuota(const ProcessQuota&) = delete;
  ProcessQuota& operator=(const ProcessQuota&) = delete;

  // Begins a new round of assignments.
  void count_anew();
  // May this group start a process now, for that caller (null: unknown)? If not, one process is ended to make
  // room, one per request.
  Room take(const InstanceGroup& asking, const Account* whose);
  // May it take a spare? The spare then counts for its caller. False if there is none.
  bool take_spare(const InstanceGroup& asking, const Account* whose);
  // How many spares may be started.
  size_t for_spares() const;
  // The next process of this group would exceed its caller's share.
  bool is_beyond_share(const InstanceGroup& group);

 private:
  ProcessCount& count();
  // The caller has all it may have while others wait.
  bool has_share(const Account* whose, const ProcessCount::OfCaller& its) const;
  // The caller has a place beyond its share.
  bool is_lent(const Account* whose);
  bool another_waits(const Account* whose) const;
  enum class IdleOf : uint8_t { caller, caller_or_none, any_caller };
  // A process to end; null: none.
  StdioInstance* idle_one(const InstanceGroup& asking, const Account* whose, IdleOf from);
  StdioInstance* lent_one(const InstanceGroup& asking);
  bool end_parked_one(const Account* whose);
  void evict(StdioInstance& instance, std::string_view why);

  net::Loop& loop_;
  const config::Server& server_;
  const InstanceGroups& groups_;
  const EraProber& prober_;  // its process counts as well
  std::optional<ProcessCount> count_;
  // Callers within their share that found no room in the last round, and those of this round.
  std::unordered_set<const Account*> waited_, waiting_;
};

}  // namespace lineward::upstream

// Whether one more process of a stdio server may run (`instances`, `listen.principalShare`), and which one
// goes for it where all places are taken (docs/isolation.md): an idle one that is nobody's, one of a session
// that was idle for long (`sessions.reclaimAfter`), one that a caller has beyond its share, or one whose call
// has been parked longest, of a caller that has many of these (`limits.maxParkedPerCaller`).
//
// A caller may have more than its share while no other waits for a process. A process counts for the caller
// whose it is, or, where callers share processes, for the caller whose call it has, parked or not.
//
// Belongs to a StdioUpstream; counts anew in each turn in which places are given out.
#pragma once

#include <chrono>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "upstream/stdio/instance_groups.h"
#include "upstream/stdio/spare_pool.h"

namespace lineward::upstream {

// So many processes run, those that are ending included; so many more are wanted than there may be; nothing
// more can be taken.
struct ProcessCount {
  size_t running = 0, wanted = 0;
  bool exhausted = false;
  struct OfCaller {
    size_t running = 0;
    size_t parked = 0;  // of these, those that only a parked call has
    bool exhausted = false;
  };
  std::unordered_map<const Account*, OfCaller> of_caller;
};

class ProcessRoom {
 public:
  ProcessRoom(net::Loop& loop, const config::Server& server, const InstanceGroups& groups,
              const SparePool& spares)
      : loop_(loop), server_(server), groups_(groups), spares_(spares) {}
  ProcessRoom(const ProcessRoom&) = delete;
  ProcessRoom& operator=(const ProcessRoom&) = delete;

  // Places are given out anew.
  void count_anew();
  // May this group start one now, for that caller (null: it is not known for whom)? Where it may not, room is
  // made: one process for each that asks.
  Room take(const InstanceGroup& asking, const Account* whose);
  // May it take one that was started ahead, of which there is one? It becomes its caller's.
  bool take_spare(const InstanceGroup& asking, const Account* whose);
  // So many may be started ahead.
  size_t for_spares() const;
  // What it gets next is more than its caller's share.
  bool is_beyond_share(const InstanceGroup& group);

 private:
  ProcessCount& count();
  // All that this caller may have while others want some.
  bool has_share(const Account* whose, const ProcessCount::OfCaller& its) const;
  // Has this caller a place beyond its share?
  bool is_lent(const Account* whose);
  bool another_waits(const Account* whose) const;
  enum class Whose : uint8_t { own, own_or_nobodys, anybody };
  // One process that makes room; null: there is none.
  StdioInstance* idle_one(const InstanceGroup& asking, const Account* whose, Whose from);
  StdioInstance* lent_one(const InstanceGroup& asking);
  bool end_parked_one(const Account* whose);
  void evict(StdioInstance& instance, std::string_view why);

  net::Loop& loop_;
  const config::Server& server_;
  const InstanceGroups& groups_;
  const SparePool& spares_;
  std::optional<ProcessCount> count_;
  // Callers within their share that found no room when places were given out last, and those of now.
  std::unordered_set<const Account*> waited_, waiting_;
};

}  // namespace lineward::upstream

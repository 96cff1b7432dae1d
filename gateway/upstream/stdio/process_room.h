// Whether one more process of a stdio server may run (`instances`, `listen.principalShare`), and which one
// goes for it where all places are taken: an idle one that is nobody's, the one that was used longest ago.
//
// Belongs to a StdioUpstream; counts anew in each turn in which places are given out.
#pragma once

#include <optional>
#include <unordered_map>

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
    bool exhausted = false;
  };
  std::unordered_map<const Account*, OfCaller> of_caller;
};

class ProcessRoom {
 public:
  ProcessRoom(const config::Server& server, const InstanceGroups& groups, const SparePool& spares)
      : server_(server), groups_(groups), spares_(spares) {}
  ProcessRoom(const ProcessRoom&) = delete;
  ProcessRoom& operator=(const ProcessRoom&) = delete;

  // Places are given out anew.
  void count_anew() { count_.reset(); }
  // May this group start one now? Where it may not, room is made: one process for each that asks.
  bool take(const InstanceGroup& asking);
  // May it take one that was started ahead, of which there is one? It becomes its caller's.
  bool take_spare(const InstanceGroup& asking);
  // So many may be started ahead.
  size_t for_spares() const;

 private:
  ProcessCount& count();
  // All that this caller may have.
  bool has_share(const Account* whose, const ProcessCount::OfCaller& its) const;

  const config::Server& server_;
  const InstanceGroups& groups_;
  const SparePool& spares_;
  std::optional<ProcessCount> count_;
};

}  // namespace lineward::upstream

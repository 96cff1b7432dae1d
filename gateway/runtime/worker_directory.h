// The workers as the gateway's own parts see them: admin's WorkerDirectory plus functions reserved to these
// parts (worker_pool.h has the contracts).
#pragma once

#include "operate/admin/sources.h"
#include "proxy/cluster/server_placement.h"
#include "runtime/worker.h"

namespace lineward::runtime {

class WorkerDirectory : public admin::WorkerDirectory {
 public:
  // Used only on its own thread: from within run().
  virtual Worker& worker(size_t index) = 0;
  virtual const cluster::ServerPlacement& placement() const = 0;
  virtual void use_placement(cluster::ServerPlacement placement) = 0;

 protected:
  ~WorkerDirectory() = default;
};

}  // namespace lineward::runtime

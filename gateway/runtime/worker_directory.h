// The workers as the gateway's own parts see them: admin's WorkerDirectory, and what only they may touch
// (worker_pool.h says what each function promises).
#pragma once

#include "admin/sources.h"
#include "cluster/server_placement.h"
#include "runtime/worker.h"

namespace lineward {

class WorkerDirectory : public admin::WorkerDirectory {
 public:
  // Touched on its own thread only: from within run().
  virtual Worker& worker(size_t index) = 0;
  virtual const ServerPlacement& placement() const = 0;
  virtual void use_placement(ServerPlacement placement) = 0;

 protected:
  ~WorkerDirectory() = default;
};

}  // namespace lineward

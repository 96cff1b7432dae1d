// The workers as the gateway's own parts see them (crew.h says what each function promises).
#pragma once

#include "admin/sources.h"
#include "cluster/homes.h"
#include "runtime/worker.h"

namespace lineward {

class Staff : public admin::Staff {
 public:
  // Touched on its own thread only: from within run().
  virtual Worker& worker(size_t index) = 0;
  virtual const HomeMap& homes() const = 0;
  virtual void use_homes(HomeMap homes) = 0;

 protected:
  ~Staff() = default;
};

}  // namespace lineward

// The service that a configured hook asks what may pass: it lets everything pass, after a while.
#pragma once

#include <memory>
#include <vector>

#include "plan.h"
#include "world.h"

namespace lineward::sim {

class HookService {
 public:
  // Takes connections at Policies::kHookAddress from here on.
  HookService(World& world, const Plan& plan);
  ~HookService();
  HookService(const HookService&) = delete;
  HookService& operator=(const HookService&) = delete;

 private:
  class Connection;
  // How long it thinks about what it is asked now. When all is over, whether the servers serve is looked at:
  // then it is quick.
  Time thinks();
  World& world_;
  const Plan& plan_;
  Random random_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace lineward::sim

// Whether the gateway can serve, as kube-apiserver answers it: a list of checks. Also keeps asking for
// required upstreams, which nobody calls while the gateway is not ready.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "admin/sources.h"

namespace lineward::admin {

struct Check {
  std::string name;  // "listener", "upstream github"
  bool ok = false;
  std::string text;  // "ok", "starting (3.1s of 60s)"
};

class Readiness {
 public:
  explicit Readiness(const Sources& sources);

  // Within WorkerDirectory::paused().
  std::vector<Check> checks() const;
  // Whether every loop turned in the last five seconds.
  bool live() const;

 private:
  struct Required {
    std::chrono::milliseconds since{0};  // when it was last seen not to be ready, after it had been
    std::chrono::milliseconds next{0};
    uint32_t tries = 0;
    bool ready = false;
  };
  void beat();
  void look();

  const Sources& sources_;
  void follow();
  std::map<std::string, Required> required_;  // by name
  net::Timer heart_;
};

}  // namespace lineward::admin

// Readiness as a list of checks, as in kube-apiserver. Also probes required upstreams, which get no calls
// while the gateway is not ready.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "operate/admin/sources.h"

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
  // Whether every loop turned within the last 10 s.
  bool live() const;

 private:
  struct Required {
    std::chrono::milliseconds since{0};  // when it last became not ready
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

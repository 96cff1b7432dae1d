// An upstream in front of the shared listens of a server that remembers (RememberingUpstream). It tells
// clients which of their remembered lists have turned out to be different (docs/quick-starts.md). Many
// callers may share a listen of the server; here each client still has its own.
//
// The clients of one caller cannot be told apart. So each listen of a caller that was given an old list is
// told: those that are open at once, and later ones when they open. Owned by the upstream in front of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"

namespace lineward::upstream {

class WatchedListen;

class RememberedChanges final : public core::PassingUpstream {
 public:
  RememberedChanges(net::Loop& loop, std::unique_ptr<core::Upstream> inner)
      : PassingUpstream(std::move(inner)), loop_(loop) {}

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;

  // For the memory. `bits`: lists, as in WatchedListen. Tells the open listens of this caller, and returns
  // their number; they do not call back before the end of the turn.
  size_t tell(const std::string& asker, uint8_t bit);
  // Listens of this caller are told when they open, if that is soon.
  void owe(const std::string& asker, uint8_t bits);

  // For the listens.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  void opened(WatchedListen& listen) { listens_.push_back(&listen); }
  void closed(WatchedListen& listen) { std::erase(listens_, &listen); }
  // The lists among these of which its listens are told when they open.
  uint8_t owed_to(const std::string& asker, uint8_t wanted) const;

 private:
  struct Owed {
    uint8_t lists = 0;
    std::chrono::milliseconds until{0};
  };

  net::Loop& loop_;
  std::vector<WatchedListen*> listens_;
  std::map<std::string, Owed> owed_;  // by asker
};

}  // namespace lineward::upstream

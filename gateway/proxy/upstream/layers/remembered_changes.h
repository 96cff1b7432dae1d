// An upstream in front of the shared listens of a server that remembers (RememberingUpstream). It tells
// clients which of their remembered lists have turned out to be different (docs/quick-starts.md). Many
// callers may share a listen of the server; here each client still has its own.
//
// A caller has one notification of a list for each answer from memory. Its open listens get it at once, and
// those that it opens later get the others. Owned by the upstream in front of it.
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
  // So many listens of this caller are told when they open, if that is soon.
  void owe(const std::string& asker, uint8_t bits, size_t times);

  // For the listens.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  void opened(WatchedListen& listen) { listens_.push_back(&listen); }
  void closed(WatchedListen& listen) { std::erase(listens_, &listen); }
  // The owed lists among these; each is owed once less.
  uint8_t take(const std::string& asker, uint8_t wanted);

 private:
  struct Owed {
    std::map<uint8_t, size_t> times;  // by list
    std::chrono::milliseconds until{0};
  };

  net::Loop& loop_;
  std::vector<WatchedListen*> listens_;
  std::map<std::string, Owed> owed_;  // by asker
};

}  // namespace lineward::upstream

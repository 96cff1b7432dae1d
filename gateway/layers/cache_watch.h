// Lineward's own listen on a modern server whose lists its cache holds, made as one kind of caller would make
// it: so a change is heard of while no client listens (behaviour.md 12). What comes on it reaches the cache
// by the hub, as what comes on any other listen does; here only matters whether it stands.
//
// It keeps no process alive and shares nothing with clients' listens. It ends a moment after the last list is
// forgotten; when its server ends it, the lists are forgotten, and what is kept from then on is listened for
// anew. Owned by the cache.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/held_bytes.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::upstream {

class CacheWatch final : public core::CallOwner {
 public:
  // `unheard`: what has changed until now was not told. It begins to stand after the first list was kept, and
  // ends before the last one is forgotten. `over` is called from a timer: nothing is held any more, or what
  // was to be remembered of a refusal has been long enough. `request` is made as often as it is listened.
  CacheWatch(net::Loop& loop, core::CallRequest request, std::function<void()> unheard,
             std::function<void()> over);
  ~CacheWatch();
  CacheWatch(const CacheWatch&) = delete;
  CacheWatch& operator=(const CacheWatch&) = delete;

  void listen(core::Upstream& inner);
  bool begun() const { return call_ != nullptr || refused_; }
  // What was told until it was refused, or ended, was heard.
  bool has_stood() const { return stood_; }
  bool holds() const { return held_ > 0; }
  // Once that is over, and lists are held.
  void listen_again(core::Upstream& inner);
  // One more list is held, until then; one is not any more.
  void hold(std::chrono::milliseconds until);
  void let_go();

 private:
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure&) override { ended(); }
  void ended();

  net::Loop& loop_;
  const core::CallRequest request_;
  HeldBytes held_bytes_{Held::listens};  // of it
  const std::function<void()> unheard_, over_;
  std::unique_ptr<core::Call> call_;
  bool stood_ = false;
  bool refused_ = false;
  size_t held_ = 0;
  std::chrono::milliseconds until_{0};
  net::Timer timer_;
};

// The request for it: as `like`, for these lists.
core::CallRequest watch_request(const core::CallRequest& like, const core::Tells& tells);

}  // namespace lineward::upstream

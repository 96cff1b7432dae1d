// Lineward's own listen on a modern server with cached lists, with the credentials of one kind of caller. It
// receives changes while no client listens (behaviour.md 12). Its notifications reach the cache through the
// hub, like those of any listen; this class only tracks whether the listen is acknowledged.
//
// It keeps no process alive and shares nothing with clients' listens. It ends a moment after the last list is
// dropped. When its server ends it, the lists are dropped, and it is opened again for lists cached
// afterwards. Owned by the cache.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

class CacheWatch final : public core::CallCallbacks {
 public:
  // `unheard`: earlier changes were not received. Called when the listen is first acknowledged, after the
  // first list was cached, and when it ends, before the last list is dropped. `over` is called from a timer:
  // no list is held any more, or a refusal was remembered long enough. `request` is sent for each listen.
  CacheWatch(net::Loop& loop, core::UpstreamRequest request, std::function<void()> unheard,
             std::function<void()> over);
  ~CacheWatch();
  CacheWatch(const CacheWatch&) = delete;
  CacheWatch& operator=(const CacheWatch&) = delete;

  void listen(core::Upstream& inner);
  bool begun() const { return call_ != nullptr || refused_; }
  // It was acknowledged: changes were received until it was refused or ended.
  bool has_stood() const { return stood_; }
  bool holds() const { return held_ > 0; }
  // To be called after it has ended, while lists are held.
  void listen_again(core::Upstream& inner);
  // hold() adds a cached list, kept until then; let_go() removes one.
  void hold(std::chrono::milliseconds until);
  void let_go();

 private:
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure&) override { ended(); }
  void ended();

  net::Loop& loop_;
  const core::UpstreamRequest request_;
  MemoryCharge held_bytes_{Held::listens};  // its request
  const std::function<void()> unheard_, over_;
  std::unique_ptr<core::Call> call_;
  bool stood_ = false;
  bool refused_ = false;
  size_t held_ = 0;
  std::chrono::milliseconds until_{0};
  net::Timer timer_;
};

// The listen's request: as `like`, for these lists.
core::UpstreamRequest watch_request(const core::UpstreamRequest& like, const core::Tells& tells);

}  // namespace lineward::upstream

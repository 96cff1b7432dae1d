// An address of an HTTP server, on this worker: its connections, and its state that all workers share
// (docs/origins.md). A server with a single `url` has one, which is never ejected.
//
// Owned by its OriginSet, which frees an origin that was removed when nothing uses it any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/http_client/http_url.h"
#include "proxy/upstream/shared/origin_book.h"

namespace lineward::upstream {

class OriginSet;

class Origin final : public PoolObserver {
 public:
  // `slot`: its place among the origins of its set, below 64. `key`: its whole address. `only`: it is the
  // only one: nothing is counted for it.
  Origin(OriginSet& owner, uint32_t slot, std::string key, HttpUrl url, OriginBook::StatePtr state,
         bool only);
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  // Once, before it is used.
  void open(net::Loop& loop, std::shared_ptr<net::TlsContext> tls, PoolOptions options);

  HttpPool& pool() { return *pool_; }
  const HttpPool& pool() const { return *pool_; }
  const HttpUrl& url() const { return url_; }
  const std::string& key() const { return key_; }
  OriginState& state() { return *tally_->state; }
  const OriginState& state() const { return *tally_->state; }
  uint64_t bit() const { return uint64_t{1} << slot_; }
  uint32_t slot() const { return slot_; }

  uint32_t weight = 1;
  bool drains = false;  // by the configuration
  // The configuration does not have it any more: since then.
  std::optional<std::chrono::milliseconds> leaving;
  // Gets no new calls and sessions.
  bool is_closed() const { return drains || leaving || state().drained.load(std::memory_order_relaxed); }
  // Calls without a session go elsewhere, and what could not be sent in a session of it will not be.
  bool is_avoided(std::chrono::milliseconds now) const {
    return is_closed() || state().is_out(now) || state().is_left_alone(now);
  }
  bool is_unused() const { return tally_->uses == 0 && pool_->is_unused(); }
  // A call got no answer within the limit that its server has.
  void timed_out();

 private:
  friend class OriginUse;
  // Kept by its users too, some of which are freed after it.
  struct Tally {
    const OriginBook::StatePtr state;
    const bool only;
    size_t uses = 0;  // on this worker
  };

  void on_response(const http::ResponseInfo& info) override;
  void on_broken(const core::Failure& fault) override;

  OriginSet& owner_;
  const uint32_t slot_;
  const std::string key_;
  const HttpUrl url_;
  const std::shared_ptr<Tally> tally_;
  std::unique_ptr<HttpPool> pool_;
};

// Keeps an origin, and counts what it is used for.
class OriginUse {
 public:
  // `call`: given back before the origin's end.
  enum class As : uint8_t { call, session, other };

  OriginUse() = default;
  OriginUse(Origin& origin, As as) { take(origin, as); }
  OriginUse(const OriginUse& other) {
    if (other.origin_ != nullptr) take(*other.origin_, other.as_);
  }
  OriginUse(OriginUse&& other) noexcept
      : origin_(std::exchange(other.origin_, nullptr)), tally_(std::move(other.tally_)), as_(other.as_) {}
  OriginUse& operator=(const OriginUse&) = delete;
  OriginUse& operator=(OriginUse&& other) noexcept {
    give();
    origin_ = std::exchange(other.origin_, nullptr);
    tally_ = std::move(other.tally_);
    as_ = other.as_;
    return *this;
  }
  ~OriginUse() { give(); }

  Origin* get() const { return origin_; }
  void take(Origin& origin, As as) {
    give();
    origin_ = &origin;
    as_ = as;
    if (as != As::call) tally_ = origin.tally_;
    Origin::Tally& tally = *origin.tally_;
    ++tally.uses;
    if (tally.only) return;
    if (as == As::session) ++tally.state->sessions;
    if (as != As::call) return;
    ++tally.state->in_flight;
    ++tally.state->calls;
  }
  void give() {
    if (origin_ == nullptr) return;
    Origin& origin = *std::exchange(origin_, nullptr);
    const std::shared_ptr<Origin::Tally> kept = std::move(tally_);
    Origin::Tally& tally = as_ == As::call ? *origin.tally_ : *kept;
    --tally.uses;
    if (tally.only || as_ == As::other) return;
    --(as_ == As::call ? tally.state->in_flight : tally.state->sessions);
  }

 private:
  Origin* origin_ = nullptr;
  std::shared_ptr<Origin::Tally> tally_;  // null for a call
  As as_ = As::other;
};

}  // namespace lineward::upstream

// A version of a server: its upstream and the configuration it was made from. A reload may replace it with a
// new version. Calls, parked calls and sessions hold a lease on their version, which is freed after the last
// lease.
//
// Created by the ServerDirectory; shared by the leases.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "config/config.h"
#include "proxy/core/upstream.h"

namespace lineward::exchange {

struct Served {
  Served(core::Upstream& its_upstream, const config::Server& its_config)
      : upstream(its_upstream), config(its_config) {}

  core::Upstream& upstream;
  const config::Server& config;
  bool retiring = false;  // takes no new calls
  size_t leases = 0;
  std::function<void()> left;  // retiring: called when the last lease is gone, from anywhere
};

class UpstreamLease {
 public:
  UpstreamLease() = default;
  explicit UpstreamLease(std::shared_ptr<Served> served) : served_(std::move(served)) {
    if (served_) ++served_->leases;
  }
  UpstreamLease(const UpstreamLease& other) : UpstreamLease(other.served_) {}
  UpstreamLease(UpstreamLease&& other) noexcept : served_(std::move(other.served_)) {}
  UpstreamLease& operator=(UpstreamLease other) noexcept {
    std::swap(served_, other.served_);
    return *this;
  }
  ~UpstreamLease() {
    if (served_ && --served_->leases == 0 && served_->left) std::exchange(served_->left, nullptr)();
  }

  explicit operator bool() const { return served_ != nullptr; }
  const Served* operator->() const { return served_.get(); }
  core::Upstream& upstream() const { return served_->upstream; }
  const Served* get() const { return served_.get(); }

 private:
  std::shared_ptr<Served> served_;
};

}  // namespace lineward::exchange

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

struct ServerVersion {
  ServerVersion(core::Upstream& its_upstream, const config::Server& its_config)
      : upstream(its_upstream), config(its_config) {}

  core::Upstream& upstream;
  const config::Server& config;
  bool retiring = false;  // takes no new calls
  size_t leases = 0;
  std::function<void()> left;  // retiring: called when the last lease is gone, from anywhere
};

class ServerRef {
 public:
  ServerRef() = default;
  explicit ServerRef(std::shared_ptr<ServerVersion> served) : served_(std::move(served)) {
    if (served_) ++served_->leases;
  }
  ServerRef(const ServerRef& other) : ServerRef(other.served_) {}
  ServerRef(ServerRef&& other) noexcept : served_(std::move(other.served_)) {}
  ServerRef& operator=(ServerRef other) noexcept {
    std::swap(served_, other.served_);
    return *this;
  }
  ~ServerRef() {
    if (served_ && --served_->leases == 0 && served_->left) std::exchange(served_->left, nullptr)();
  }

  explicit operator bool() const { return served_ != nullptr; }
  const ServerVersion* operator->() const { return served_.get(); }
  core::Upstream& upstream() const { return served_->upstream; }
  const ServerVersion* get() const { return served_.get(); }

 private:
  std::shared_ptr<ServerVersion> served_;
};

}  // namespace lineward::exchange

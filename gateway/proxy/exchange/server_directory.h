// The servers that a worker's exchanges can reach: adding them, finding them by name, and retiring them while
// calls and sessions still use them.
//
// Owned by the exchange table. A server is found by its name until retire(). Its version lives until the last
// lease is gone; `left` reports that. The directory may be destroyed before the leases: then `left` is not
// called.
//
// Errors: for an unknown name lease() is empty, versions() is nullopt, and hop() is null. The caller answers
// the client.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"
#include "proxy/metrics/stats.h"

namespace lineward::exchange {

// A version of a server: its upstream and the configuration it was made from. A reload may replace it with a
// new version. Calls, parked calls and sessions hold a lease on their version, which is freed after the last
// lease.
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

// Why a version is retired: a new version replaces it under its name, or the server is removed.
enum class Retirement : bool { replaced, removed };

class ServerDirectory {
 public:
  // `cancels` receives the outcomes of cancels at these servers. It must outlive this.
  ServerDirectory(net::Loop& loop, metrics::CancelWatcher& cancels) : loop_(loop), cancels_(cancels) {}
  ~ServerDirectory() { close(); }

  // New calls for this name go to `upstream` from here on. It must outlive this, or leave by retire().
  void add(core::Upstream& upstream, const config::Server& server);
  // Reports the outcomes of cancels also for a server that lives on another worker.
  void hear_cancels(const std::string& name);
  // The version takes no new calls. The returned lease keeps the version while the caller ends its users. The
  // lease is empty if this version takes no calls here; then `left` is never called. `left` is called when
  // nothing refers to the version any more, never before this returns.
  ServerRef retire(core::Upstream& upstream, std::function<void()> left);
  // Stops all reports, of cancels and of last leases. For an owner that ends its calls later.
  void close();

  // A lease on the version that takes calls; empty: none.
  ServerRef lease(const std::string& name) const;
  // A factory of leases on this upstream's version, for callers that reach it through another upstream.
  std::function<std::shared_ptr<void>()> leases(const core::Upstream& upstream) const;

  // Implement core::ExchangeApi.
  std::optional<std::vector<std::string>> versions(const std::string& name) const;
  std::optional<bool> keeps_sessions(const std::string& name) const;
  std::unique_ptr<core::Hop> hop(const std::string& name, core::HopRequest request,
                                 core::HopListener& listener) const;

 private:
  core::Upstream* find(const std::string& name) const;

  net::Loop& loop_;
  metrics::CancelWatcher& cancels_;
  std::unordered_map<std::string, std::shared_ptr<ServerVersion>> servers_;  // those that take calls, by name
  std::vector<std::shared_ptr<ServerVersion>> retiring_;
  std::set<std::string> watched_;  // servers with reported cancels
  net::Lifetime lifetime_;
};

}  // namespace lineward::exchange

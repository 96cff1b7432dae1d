// The servers that a worker's exchanges can go to: how they come, how they are found by their names, and how
// they leave while calls and sessions are still with them.
//
// Owned by the exchange table. A server stays reachable by its name until retire(); its form
// (exchange/served.h) lives on until the last lease on it is gone, which is what `left` says. The directory
// may end before the leases: nobody is told of the last one then.
//
// Errors: a name that is not here has no server. lease() is empty then, versions() has nothing to say, and
// hop() gives none; what a client is told is for the caller.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "core/upstream.h"
#include "exchange/served.h"
#include "metrics/stats.h"
#include "net/lifetime.h"
#include "net/loop.h"

namespace lineward::exchange {

// Why a server's form goes: another takes its place, under its name, or none does.
enum class Retirement : bool { replaced, removed };

class ServerDirectory {
 public:
  // `cancels` hears what becomes of cancels of calls of these servers. It must outlive this.
  ServerDirectory(net::Loop& loop, core::CancelWatcher& cancels) : loop_(loop), cancels_(cancels) {}
  ~ServerDirectory() { close(); }

  // New calls of this name go to it from here on. It must outlive this, or leave by retire().
  void add(core::Upstream& upstream, const config::Server& server);
  // What becomes of cancels of calls of this name, which lives elsewhere, is told here all the same.
  void hear_cancels(const std::string& name);
  // It takes no new calls. The lease keeps it for as long as the caller has to tell those that are with it;
  // it is empty when this form does not take calls here anyway, and `left` is never called then. `left` is
  // called, not from here, when nothing refers to it any more.
  UpstreamLease retire(core::Upstream& upstream, std::function<void()> left);
  // Nobody is told anything from here on, neither of cancels nor of last leases. For an owner whose calls end
  // later.
  void close();

  // A lease on the form that takes calls; empty when there is none.
  UpstreamLease lease(const std::string& name) const;
  // Makes leases on it for callers that reach it by another upstream.
  std::function<std::shared_ptr<void>()> leases(const core::Upstream& upstream) const;

  // core::ExchangeApi of the same names.
  std::optional<std::vector<std::string>> versions(const std::string& name) const;
  std::optional<bool> keeps_sessions(const std::string& name) const;
  std::unique_ptr<core::Hop> hop(const std::string& name, core::HopRequest request,
                                 core::HopListener& listener) const;

 private:
  core::Upstream* find(const std::string& name) const;

  net::Loop& loop_;
  core::CancelWatcher& cancels_;
  std::unordered_map<std::string, std::shared_ptr<Served>> servers_;  // that take calls, by name
  std::vector<std::shared_ptr<Served>> retiring_;
  std::set<std::string> watched_;  // servers whose cancels are told
  net::Lifetime lifetime_;
};

}  // namespace lineward::exchange

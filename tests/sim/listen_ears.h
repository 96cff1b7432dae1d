// A client's reading of its listen's messages, over any transport.
#pragma once

#include <string>

#include "ledger.h"
#include "script.h"

namespace lineward::sim {

class ListenEars {
 public:
  ListenEars(World& world, Ledger& ledger, const Plan& plan, size_t client)
      : world_(world), ledger_(ledger), plan_(plan), mine_(plan.clients[client]), client_(client) {}

  // The wishes of a modern client: members of `notifications`.
  std::string wishes() const;
  // A notification on a modern listen, which was asked for under this id.
  void notification(const std::string& raw_id, const Json& message, const std::string& text);
  // A legacy session is subscribed; it is told of an update.
  void subscribed() { acknowledged_ = world_.now(); }
  void updated() { ++updates_; }
  // The listen has ended; its client listens no longer.
  void ended();
  void stopped();

  // Without faults a listen gets the server's notifications.
  void judge() const;

 private:
  bool is_wished(const std::string& method, const std::string& text) const;

  World& world_;
  Ledger& ledger_;
  const Plan& plan_;
  const ClientPlan& mine_;
  size_t client_;
  Time acknowledged_ = -1, stopped_ = -1;
  int updates_ = 0;
};

}  // namespace lineward::sim

// The fronts of one worker's further listeners (`listeners`, docs/listeners.md). Sessions, servers and
// exchanges are those of the worker; connections, paths, TLS and authentication are each listener's own.
//
// A reload prepares new listeners and new addresses, and then uses or forgets them. A removed listener
// accepts no more connections; its calls end, and it is freed without connections, or after the grace of a
// stop.
//
// Owned by the worker, on its thread; destroyed before the worker's first front, which owns the sessions.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls_listener.h"
#include "proxy/client/endpoint/http_front.h"
#include "proxy/cluster/server_placement.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/gate.h"

namespace lineward::runtime {

// Shared by the workers' fronts of one listener.
struct ListenerParts {
  std::shared_ptr<client::ConnectionCaps> caps;
  std::shared_ptr<const net::CurrentTls> tls;
};

class FurtherFronts {
 public:
  struct Place {
    size_t index = 0, workers = 1;
    std::function<ListenerParts(const std::string& listener)> parts;  // from any thread
    std::function<void(size_t worker, const std::string& listener, client::MovedConnection)> hand_on;
    std::function<void(size_t worker, const std::string& listener, client::NewConnection)> hand_on_new;
  };
  // `sessions`: of the worker's first front.
  FurtherFronts(net::Loop& loop, core::ExchangeApi& exchanges, client::SessionTable& sessions, Place place);
  ~FurtherFronts();
  FurtherFronts(const FurtherFronts&) = delete;
  FurtherFronts& operator=(const FurtherFronts&) = delete;

  // Opens the addresses of `next` that are not open yet. The sockets of `first`, the first worker's, are
  // joined; null: this is the first worker. After an error, forget() restores everything.
  Status<> prepare(const config::Config& next, const cluster::ServerPlacement& placement,
                   const std::shared_ptr<core::Gate>& gate, const FurtherFronts* first);
  void forget();
  // Uses what is prepared. Fronts of listeners that `next` does not have begin to leave.
  void use(const config::Config& next);
  // The prepared addresses replace those before.
  void move();

  void use_gate(const std::shared_ptr<core::Gate>& gate);
  void use_replicas(const client::ReplicaLinks& links);
  void use_paths(const config::Config& config, const cluster::ServerPlacement& placement,
                 const std::set<std::string>& leaving);
  // Null: there is none, or it leaves.
  client::HttpFront* find(const std::string& listener) const;
  struct View {
    std::string name;
    const client::HttpFront* front;
  };
  std::vector<View> view() const;

  // As those of a Front, of all of them.
  void drain();
  void close_all();
  size_t unanswered() const;
  size_t connections() const;
  size_t take_most_connections();
  size_t backlog() const;

 private:
  struct One {
    config::FurtherListen config;
    std::unique_ptr<client::HttpFront> front;
    bool moves = false;                  // to an address that is prepared
    std::chrono::milliseconds until{0};  // of one that leaves
  };
  using All = std::vector<std::unique_ptr<One>>;
  template <class F>
  void each(F&& work) const {
    for (const All* all : {&fronts_, &leaving_}) {
      for (const auto& one : *all)
        work(*one->front);
    }
  }
  One* find_in(const All& all, const std::string& name) const;
  std::unique_ptr<One> make(const config::FurtherListen& listener, const config::Config& next,
                            const cluster::ServerPlacement& placement);
  std::shared_ptr<core::Gate> gate_for(const config::FurtherListen& listener,
                                       const std::shared_ptr<core::Gate>& gate) const;
  Status<> open(One& one, const config::Listen& listen, const FurtherFronts* first);
  void leave(std::unique_ptr<One> one, std::chrono::milliseconds grace);
  void look_at_leaving();

  net::Loop& loop_;
  core::ExchangeApi& exchanges_;
  client::SessionTable& sessions_;
  const Place place_;
  std::shared_ptr<core::Gate> gate_;
  client::ReplicaLinks links_;
  All fronts_;
  All prepared_;  // new ones
  All leaving_;
  net::Timer look_;
};

}  // namespace lineward::runtime

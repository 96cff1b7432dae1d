// Admits requests by their heads alone, before sessions and messages are read: Host and Origin, CORS
// preflights, the announced size, and authentication (proxy/core/gate.h). Refused requests are answered here.
// While the gate decides asynchronously, the request waits here with its body, bounded and counted.
//
// Owned by the HttpFront. Must be notified of each closed connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/front_listener.h"
#include "proxy/core/gate.h"

namespace lineward::client {

class Gatekeeper {
 public:
  // Receives each request that had to wait and is admitted; its connection has the caller.
  using Admitted = std::function<void(ClientConnection& connection, std::string body)>;
  // `gate`: the current one, replaced by a reload; null: every caller is admitted as anonymous.
  Gatekeeper(const config::Listen& config, const FrontListener& listener, const PathRouter& router,
             const std::shared_ptr<core::Gate>& gate, const RefusalWriter& refusals, Admitted admitted_later);
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  // Checks a head before its body is read. True: it was refused, so a large body is never read.
  bool refuses_head(ClientConnection& connection);
  // May the body be requested (Expect: 100-continue)?
  bool wants_body(const http::RequestHead& head) const;
  // True: the complete request is admitted, and its connection has the caller. False: it was answered, or
  // waits with its body.
  bool admit(ClientConnection& connection, std::string& body);
  void client_left(const ClientConnection& connection) { waiting_.erase(&connection); }
  // Requests that wait for the gate's decision.
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    uint64_t number;
    std::string body;
    std::shared_ptr<core::Gate> gate;    // the one in use at the time; a reload replaces it
    std::unique_ptr<MemoryCharge> held;  // accounts for the body
  };
  // Sets the caller that its client certificate names. False: it was refused.
  bool take_certificate(ClientConnection& connection) const;
  core::GateRequest question(ClientConnection& connection) const;
  bool ask(ClientConnection& connection, std::string& body);
  bool decided(ClientConnection& connection, core::GateAnswer answer);

  const config::Listen& config_;
  const FrontListener& listener_;
  const PathRouter& router_;
  const std::shared_ptr<core::Gate>& gate_;
  const RefusalWriter& refusals_;
  const Admitted admitted_later_;
  std::unordered_map<const ClientConnection*, Waiting> waiting_;
  uint64_t next_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

// Admits requests by their heads alone, before sessions and messages are read: Host and Origin, CORS
// preflights, the announced size, and authentication (proxy/core/gate.h). Refused requests are answered here.
// While the gate decides asynchronously, the request waits here with its body, bounded and counted.
//
// Owned by the HttpFront. Must be notified of each closed connection.
#pragma once

#include <cstdint>
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

// Receives each admitted request; its connection has the caller.
class AdmittedRequests {
 public:
  virtual void on_admitted(ClientConnection& connection, std::string body) = 0;

 protected:
  ~AdmittedRequests() = default;
};

class Gatekeeper {
 public:
  // `gate`: the current one, replaced by a reload; null: every caller is admitted as anonymous.
  Gatekeeper(const config::Listen& config, const FrontListener& listener, const PathRouter& router,
             const std::shared_ptr<core::Gate>& gate, const RefusalWriter& refusals,
             AdmittedRequests& admitted);
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  // Checks a head before its body is read. True: it was refused, so a large body is never read.
  bool refuses_head(ClientConnection& connection);
  // May the body be requested (Expect: 100-continue)?
  bool wants_body(const http::RequestHead& head) const;
  // Refuses a complete request, or hands it to AdmittedRequests, now or later.
  void admit(ClientConnection& connection, std::string body);
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
  core::GateRequest question(const ClientConnection& connection) const;
  void ask(ClientConnection& connection, std::string body);
  void decided(ClientConnection& connection, core::GateAnswer answer, std::string body);

  const config::Listen& config_;
  const FrontListener& listener_;
  const PathRouter& router_;
  const std::shared_ptr<core::Gate>& gate_;
  const RefusalWriter& refusals_;
  AdmittedRequests& admitted_;
  std::unordered_map<const ClientConnection*, Waiting> waiting_;
  uint64_t next_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

// Decides which requests come in, by their heads alone and before sessions and messages are looked at: Host
// and Origin, the preflight of browsers, the size that is announced, and who calls (core/gate.h). Who does
// not come in is answered here. Where the gate takes its time, the request waits here with its body, bounded
// and counted.
//
// Owned by the HttpFront. Must be told of each connection that is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/held_bytes.h"
#include "client/endpoint/path_router.h"
#include "client/endpoint/refusal_writer.h"
#include "client/http/client_connection.h"
#include "client/http/front_listener.h"
#include "config/config.h"
#include "core/gate.h"
#include "net/lifetime.h"

namespace lineward::client {

// Who goes on with a request that came in; its connection says who calls.
class AdmittedRequests {
 public:
  virtual void on_admitted(ClientConnection& connection, std::string body) = 0;

 protected:
  ~AdmittedRequests() = default;
};

class Gatekeeper {
 public:
  // `gate`: the one of today, which a reload replaces; null: everybody comes in, as nobody in particular.
  Gatekeeper(const config::Listen& config, const FrontListener& listener, const PathRouter& router,
             const std::shared_ptr<core::Gate>& gate, const RefusalWriter& refusals,
             AdmittedRequests& admitted);
  Gatekeeper(const Gatekeeper&) = delete;
  Gatekeeper& operator=(const Gatekeeper&) = delete;

  // Of a head whose body was not read yet. True: it was refused, so nothing of a large body is read for
  // nobody.
  bool refuses_head(ClientConnection& connection);
  // May the body of this request be asked for (Expect: 100-continue)?
  bool wants_body(const http::RequestHead& head) const;
  // A complete request: refused, or handed to AdmittedRequests, now or later.
  void admit(ClientConnection& connection, std::string body);
  void connection_gone(const ClientConnection& connection) { waiting_.erase(&connection); }
  // Requests whose credentials are being looked into.
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    uint64_t number;
    std::string body;
    std::shared_ptr<core::Gate> gate;  // the one that was asked; a reload brings another
    std::unique_ptr<HeldBytes> held;   // its body
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

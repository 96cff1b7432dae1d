// The side towards clients as the gateway's life sees it: HTTP on a listener, or one client on stdio.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/session/session.h"
#include "core/document_source.h"
#include "core/gate.h"
#include "net/listener.h"

namespace lineward::client {

class Front {
 public:
  virtual ~Front() = default;
  // Begins to take requests.
  virtual Status<net::ListenFailure> listen() = 0;
  virtual std::string address() const = 0;
  virtual SessionTable& sessions() = 0;
  // The plain sidecar's server, or null; must outlive the front, or be taken back.
  virtual void use_documents(core::DocumentSource*) {}
  // Who may come in, and what plugins want to see of requests; null: everybody, nothing.
  virtual void use_gate(std::shared_ptr<core::Gate>) {}
  // No new requests; those under way go on.
  virtual void drain() = 0;
  // While draining: connections that may still bring a request, for which servers must be there.
  virtual size_t unanswered() const { return 0; }
  // Those that may still take an answer.
  virtual size_t connections() const = 0;
  // The most there were since this was asked last.
  virtual size_t take_most_connections() { return connections(); }
  // Bytes of answers that clients have not taken yet.
  virtual size_t backlog() const = 0;
  virtual void close_all() = 0;
};

}  // namespace lineward::client

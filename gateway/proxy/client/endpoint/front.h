// The client side as the runtime uses it: HTTP on a listener, or one client on stdio.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "foundation/base/result.h"
#include "foundation/net/listener.h"
#include "proxy/client/session/session.h"
#include "proxy/core/document_source.h"
#include "proxy/core/gate.h"

namespace lineward::client {

class Front {
 public:
  virtual ~Front() = default;
  // Begins to accept requests.
  virtual Status<> listen() = 0;
  virtual std::string address() const = 0;
  virtual SessionTable& sessions() = 0;
  // The plain sidecar's server, or null; must outlive the front, or be reset first.
  virtual void use_documents(core::FetchDocument) {}
  // Authentication, and the headers that plugins read; null: every caller is admitted, no headers are kept.
  virtual void use_gate(std::shared_ptr<core::Gate>) {}
  // Accepts no new requests; those in flight go on.
  virtual void drain() = 0;
  // While draining: connections that may still send a request, for which servers must be available.
  virtual size_t unanswered() const { return 0; }
  // Connections that may still receive an answer.
  virtual size_t connections() const = 0;
  // The maximum since the last call.
  virtual size_t take_most_connections() { return connections(); }
  // Bytes of answers that clients have not read yet.
  virtual size_t backlog() const = 0;
  virtual void close_all() = 0;
};

}  // namespace lineward::client

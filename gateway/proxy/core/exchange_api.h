// The interface from the client side to the exchanges. Clients, sessions and connections hold ids only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/slot_map.h"
#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/client_request.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"
#include "proxy/core/plain_hop.h"
#include "proxy/core/portable_scopes.h"
#include "proxy/core/reply_stream.h"

namespace lineward::core {

struct ExchangeTag {};
using ExchangeId = SlotId<ExchangeTag>;

// An incoming request, notification or response of a client. `from` is filled in while the message is being
// admitted, and immutable once handed over.
struct IncomingMessage {
  std::shared_ptr<ClientRequest> from = std::make_shared<ClientRequest>();  // never null
  mcp::Message message;
  SharedFields headers;              // as in UpstreamRequest
  bool sends_param_headers = false;  // as in UpstreamRequest
};

enum class AnswerCame : bool { here, elsewhere };

class ExchangeApi {
 public:
  virtual ExchangeId start(IncomingMessage&& arrival, std::unique_ptr<ReplyStream> reply) = 0;
  // The stream or connection of an exchange is gone.
  virtual void client_left(ExchangeId id, mcp::EndReason why) = 0;
  // The client sent a cancel message; `why` is its reason or empty.
  virtual void cancel(ExchangeId id, std::string_view why) = 0;
  // Applies policies to a notification, or to an answer to a server's request, before it is forwarded; they
  // may change it. A denied message is not forwarded. The denial is sent to the client if possible.
  virtual std::optional<PolicyError> judge(IncomingMessage&) { return std::nullopt; }
  // A notification from a client, in its session or in a modern POST.
  virtual void notified(IncomingMessage&& arrival) = 0;
  // A client's answer to a server's request in a legacy session. True: the answer was sent to a server that
  // had sent the request through another replica; that replica does not know of the answer. `elsewhere`:
  // another replica received the answer and sent it to the server; exchanges that wait for it here continue.
  virtual bool answered(const std::string& session, mcp::Message answer, AnswerCame came) = 0;
  // A session ended: everything it owns ends.
  virtual void session_ended(const std::string& session) = 0;
  // Adopts a session that another replica opened and that the client side has just created.
  virtual Adoption adopt_session(const std::string&, const ScopeState&) { return Adoption::refused; }
  // The client opened, or closed, a stream of a shared session here (PortableScopes::open_stream).
  virtual void stream_opened(const std::string&, const HeaderFields&) {}
  virtual void stream_closed(const std::string&) {}
  // For a shared session; `done` may never be called (PortableScopes::when_settled).
  virtual void when_settled(const std::string&, std::function<void()>) {}
  // The protocol versions of the server; nullopt while unknown.
  virtual std::optional<std::vector<std::string>> versions(const std::string& upstream) const = 0;
  // Whether the server keeps sessions for legacy clients (core::Upstream::keeps_sessions).
  virtual std::optional<bool> keeps_sessions(const std::string&) const { return true; }
  // A request without a message (core::Upstream::hop). Null: the server does not accept one.
  virtual std::unique_ptr<Hop> hop(const std::string&, HopRequest, HopListener&) { return nullptr; }

 protected:
  ~ExchangeApi() = default;
};

}  // namespace lineward::core

// The way from the client side to the exchanges. Clients, sessions and connections hold ids only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slot_map.h"
#include "core/client_request.h"
#include "core/gate.h"
#include "core/headers.h"
#include "core/plain_hop.h"
#include "core/portable_scopes.h"
#include "core/reply_stream.h"
#include "mcp/end_reason.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/revision.h"

namespace lineward::core {

struct ExchangeTag {};
using ExchangeId = SlotId<ExchangeTag>;

// A client's request, notification or answer on its way in: what is known of it while that is found out, and
// its message. Whoever takes it takes what is known of it as it stands: nobody writes there afterwards.
struct Arrival {
  std::shared_ptr<ClientRequest> from = std::make_shared<ClientRequest>();  // never null
  mcp::Message message;
  SharedFields headers;         // as in CallRequest
  bool mirrors_itself = false;  // as in CallRequest
};

enum class AnswerCame : bool { here, elsewhere };

class ExchangeApi {
 public:
  virtual ExchangeId start(Arrival&& arrival, std::unique_ptr<ReplyStream> reply) = 0;
  // The stream or connection of an exchange is gone.
  virtual void client_gone(ExchangeId id, mcp::EndReason why) = 0;
  // The client cancels a request by a message; `why` is its reason or empty.
  virtual void cancelled(ExchangeId id, std::string_view why) = 0;
  // Of a notification, or an answer to a server's question, before it is handed in below: what policies say
  // of it, and make of it. A denial is for the client, where it can be told; the message goes nowhere then.
  virtual std::optional<Denial> judge(Arrival&) { return std::nullopt; }
  // A notification from a client (its session, or a modern POST).
  virtual void notified(Arrival&& arrival) = 0;
  // A client's answer to a server's request, in a legacy session. True: it went to the server, which did not
  // ask here but by way of another replica; that one does not know of the answer. One that came to another
  // replica has gone to the server from there, and what waits for it here goes on.
  virtual bool answered(const std::string& session, mcp::Message answer, AnswerCame came) = 0;
  // A session is over: everything it owns ends.
  virtual void session_ended(const std::string& session) = 0;
  // A session that another replica opened, and that the client side has just made; false when it cannot be
  // served here.
  virtual bool adopt_session(const std::string&, const ScopeState&) { return false; }
  // The client has a stream of such a session here; it has none any more (PortableScopes::open_stream).
  virtual void stream_opened(const std::string&, const HeaderFields&) {}
  virtual void stream_closed(const std::string&) {}
  // Of such a session; may come to nothing (PortableScopes::when_settled).
  virtual void when_settled(const std::string&, std::function<void()>) {}
  // The versions that a server behind speaks; nothing while unknown.
  virtual std::optional<std::vector<std::string>> versions(const std::string& upstream) const = 0;
  // Does it keep sessions for legacy clients (core::Upstream::keeps_sessions)?
  virtual std::optional<bool> keeps_sessions(const std::string&) const { return true; }
  // A request without a message (core::Upstream::hop); null: it is none for this server.
  virtual std::unique_ptr<Hop> hop(const std::string&, HopRequest, HopListener&) { return nullptr; }

 protected:
  ~ExchangeApi() = default;
};

}  // namespace lineward::core

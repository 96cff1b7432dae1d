#include "proxy/client/endpoint/session_opener.h"

#include "proxy/client/endpoint/mcp_endpoint.h"

#include <utility>
#include <vector>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/resource_names.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr std::string_view kJson = "application/json";

// The answer to an `initialize` that Lineward sends for a client.
class OpeningReply final : public core::ReplyStream {
 public:
  using Told = std::function<void(std::string answer, int status, core::HeaderFields headers)>;
  OpeningReply(net::Loop& loop, Told told) : loop_(loop), told_(std::move(told)) {}
  ~OpeningReply() override { tell({}, 503); }

  void send(std::string) override {}
  void finish(std::string message, int status) override { tell(std::move(message), status); }
  void finish_empty() override { tell({}, 503); }
  void cut() override { tell({}, 503); }
  bool can_send() const override { return false; }
  uint64_t bytes_out() const override { return 0; }
  void add_headers(const core::HeaderFields& fields) override {
    headers_.insert(headers_.end(), fields.begin(), fields.end());
  }

 private:
  void tell(std::string answer, int status) {
    if (auto told = std::exchange(told_, nullptr))
      loop_.defer(
          [told = std::move(told), answer = std::move(answer), status,
           headers = std::move(headers_)]() mutable { told(std::move(answer), status, std::move(headers)); });
  }
  net::Loop& loop_;
  Told told_;
  core::HeaderFields headers_;  // response headers of the server that the client must receive
};

}  // namespace

SessionOpener::SessionOpener(const EndpointParts& parts, McpEndpoint& asker) : parts_(parts), asker_(asker) {}

void SessionOpener::open_for(ClientConnection& connection, const std::string& server, Session* session,
                             mcp::Message&& message, uint64_t bytes) {
  const bool opens = session == nullptr;
  if (opens) session = parts_.sessions.open(connection, server, SessionDirectory::Opener::gateway);
  if (session == nullptr) {
    return parts_.refusals.refuse(connection, too_many_sessions(message, server), message.raw(Field::id));
  }
  session->served_unnamed = true;
  session->opening = true;
  auto& slot = waiting_[&connection];
  slot = std::make_unique<Waiting>();
  Waiting& waits = *slot;
  waits.session = session->id;
  waits.server = server;
  waits.message = std::move(message);
  waits.bytes = bytes;
  waits.held.charge(session->account());
  waits.held.set(bytes);
  if (opens) initialize(connection, server, *session);
}

void SessionOpener::initialize(ClientConnection& connection, const std::string& server, Session& session) {
  session.by_gateway = true;
  std::string_view revision = legacy_revision_named(connection.head().headers);
  if (revision.empty()) revision = mcp::kNewestLegacy;
  auto initialize =
      mcp::Message::parse(mcp::initialize_request(1, mcp::initialize_params("{}", revision))).value();
  core::IncomingMessage arrival = parts_.starter.legacy_arrival(connection, server, std::move(initialize), 0);
  place_in(session, arrival);
  arrival.from->http_status_visible = false;
  auto told = lifetime_.guard(
      [this, id = session.id](std::string answer, int status, const core::HeaderFields& headers) {
        answered(id, std::move(answer), status, headers);
      });
  parts_.exchanges.start(std::move(arrival), std::make_unique<OpeningReply>(parts_.loop, std::move(told)));
}

void SessionOpener::answered(const std::string& id, std::string answer, int status,
                             const core::HeaderFields& headers) {
  Session* session = parts_.sessions.table().find(id);
  auto parsed = mcp::Message::parse(std::move(answer));
  const bool well = session != nullptr && parsed && parsed->kind() == mcp::MessageKind::result;
  const mcp::Message* error = parsed && parsed->kind() == mcp::MessageKind::error ? &*parsed : nullptr;
  std::vector<ClientConnection*> waiting;
  bool wanted = false;
  for (const auto& [connection, waits] : waiting_) {
    if (waits->session != id) continue;
    waiting.push_back(connection);
    wanted = wanted || parts_.sessions.may_open(*connection, waits->server);
  }
  if (well) settle(*session, wanted);
  for (ClientConnection* connection : waiting) {
    auto found = waiting_.find(connection);
    if (found == waiting_.end()) continue;  // closed by the answer to another one
    std::unique_ptr<Waiting> waited = std::move(found->second);
    waiting_.erase(found);
    if (well) {
      asker_.on_session_opened(*connection, waited->server, std::move(waited->message), waited->bytes);
    } else {
      fail(*connection, *waited, error, status, headers);
    }
  }
}

void SessionOpener::settle(Session& session, bool wanted) {
  session.opening = false;
  const std::string id = session.id;
  if (!wanted || parts_.exchanges.keeps_sessions(session.upstream) == false)
    return parts_.exchanges.session_ended(id);
  core::IncomingMessage arrival = arrival_of(session);
  arrival.from->method = mcp::Method::initialized;
  arrival.message = mcp::Message::parse(std::string(mcp::kInitialized)).value();
  parts_.exchanges.notified(std::move(arrival));
}

// The record of the `initialize` shows that the server refused or was unreachable; this records that the
// waiting request was refused for it.
void SessionOpener::fail(ClientConnection& connection, const Waiting& waited, const mcp::Message* error,
                         int status, const core::HeaderFields& headers) {
  const std::string_view raw_id = waited.message.raw(Field::id);
  HttpError refusal = without_session(waited.message, waited.server);
  if (error == nullptr || !error->has(Field::id)) return parts_.refusals.refuse(connection, refusal, raw_id);
  parts_.refusals.note_unanswered(connection,
                                  {.status = status,
                                   .code = mcp::error_code(*error),
                                   .reason = mcp::named_reason(*error).value_or(mcp::EndReason::rpc_error),
                                   .why = refusal.text,
                                   .method = refusal.method});
  connection.respond(
      status, kJson, mcp::with_id(*error, raw_id),
      told_headers(headers, parts_.router.table().resource.get(), connection.head(), connection.is_secure()));
}

}  // namespace lineward::client

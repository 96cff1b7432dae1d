#include "proxy/client/endpoint/mcp_endpoint.h"

#include <utility>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/probe.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/client/endpoint/affinity.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/front_view.h"

namespace lineward::client {
namespace {

using mcp::Field;

// The longest wait for a server to accept `notifications/initialized`.
constexpr std::chrono::milliseconds kSettled{2500};

bool is_array(std::string_view body) {
  size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '[';
}

}  // namespace

McpEndpoint::McpEndpoint(const EndpointParts& parts, PeerRouter& peers)
    : parts_(parts), peers_(peers), batches_(parts, peers), opener_(parts, *this) {}

void McpEndpoint::client_left(ClientConnection& connection) {
  unsettled_.erase(&connection);
  opener_.client_left(connection);
}

void McpEndpoint::post(ClientConnection& connection, const std::string& server, std::string body) {
  const http::HeaderList& headers = connection.head().headers;
  if (!connection.facts().fit_to_post)
    return parts_.refusals.refuse(connection, *check_post_headers(headers));
  const uint64_t bytes = body.size();
  if (!parts_.router.fits(bytes, server))
    return parts_.refusals.refuse(connection, parts_.router.body_too_large(server));
  if (is_array(body) && headers.count("Mcp-Session-Id") > 0) return batches_.post(connection, server, body);
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(parts_.config.max_depth));
  if (!parsed) return no_message_came(connection, parsed.error());
  switch (parsed->kind()) {
    case mcp::MessageKind::request: return request(connection, server, std::move(*parsed), bytes);
    case mcp::MessageKind::notification: return notification(connection, server, std::move(*parsed));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return answer(connection, std::move(*parsed));
  }
}

bool McpEndpoint::post_to_leaving(ClientConnection& connection, const std::string& server, std::string body) {
  if (check_post_headers(connection.head().headers)) return false;
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(parts_.config.max_depth));
  if (!parsed) return false;
  switch (parsed->kind()) {
    case mcp::MessageKind::request:
      parts_.refusals.refuse(connection, parts_.router.nothing_here(), parsed->raw(Field::id));
      break;
    case mcp::MessageKind::notification: notification(connection, server, std::move(*parsed)); break;
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: answer(connection, std::move(*parsed)); break;
  }
  return true;
}

// ---- requests ----

void McpEndpoint::request(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                          uint64_t bytes) {
  auto era = era_of(message, connection.head().headers);
  if (!era) return request_without_session(connection, server, std::move(message), bytes);
  if (*era == mcp::Era::modern) return modern_request(connection, server, std::move(message), bytes);
  if (mcp::method_of(message.method()) == mcp::Method::initialize)
    return initialize(connection, server, std::move(message), bytes);
  request_in_session(connection, server, std::move(message), bytes);
}

// The supported versions, for the error answer only.
std::vector<std::string> McpEndpoint::versions_to_tell(const std::string& server,
                                                       std::string_view asked_for) const {
  const mcp::Revision* revision = mcp::find_revision(asked_for);
  if (revision != nullptr && revision->era == mcp::Era::modern) return {};
  return mcp::served_versions(
      parts_.exchanges.versions(server).value_or(std::vector<std::string>{std::string(mcp::kNewestModern)}),
      mcp::Wire::http);
}

void McpEndpoint::modern_request(ClientConnection& connection, const std::string& server,
                                 mcp::Message&& message, uint64_t bytes) {
  const http::HeaderList& headers = connection.head().headers;
  const std::string_view version = headers.get("MCP-Protocol-Version");
  core::IncomingMessage arrival = parts_.starter.arrival(connection, server, Mirrored::yes);
  if (auto refusal = check_modern_request(message, headers, versions_to_tell(server, version)))
    return parts_.refusals.refuse(connection, *refusal, message.raw(Field::id));
  if (message.has(Field::params_request_state) && peers_.pass_retry(connection, message)) return;
  arrival.from->method = mcp::method_of(message.method());
  arrival.from->era = mcp::Era::modern;
  arrival.from->bytes_in = bytes;
  arrival.from->revision = std::string(version);
  if (headers.count(kAffinityHeader) > 0) {
    if (auto name = affinity_of(headers)) arrival.from->lease = std::move(*name);
  }
  if (message.method() == mcp::kProbe) return start_probe(connection, std::move(arrival), std::move(message));
  if (parts_.router.table().keep_state.count(server) > 0)
    return start_with_state(connection, std::move(arrival), std::move(message));
  arrival.message = std::move(message);
  parts_.starter.start(connection, std::move(arrival));
}

// Lineward answers the probe itself. The head of the answer states what the front has seen of the way.
void McpEndpoint::start_probe(ClientConnection& connection, core::IncomingMessage&& arrival,
                              mcp::Message message) {
  using Comments = ExchangeStarter::Comments;
  const Comments comments = mcp::is_probe_without_comments(message) ? Comments::no : Comments::yes;
  arrival.message = std::move(message);
  std::string seen = front_view(connection, parts_.config.keep_alive);
  parts_.starter.start(connection, std::move(arrival), {{std::string(mcp::kProbeHeader), std::move(seen)}},
                       comments);
}

// The server keeps state for each client: a client without a state name is given one.
void McpEndpoint::start_with_state(ClientConnection& connection, core::IncomingMessage&& arrival,
                                   mcp::Message message) {
  auto name = affinity_of(connection.head().headers);
  if (!name) return parts_.refusals.refuse(connection, name.error(), message.raw(Field::id));
  std::vector<http::OutHeader> headers;
  arrival.from->affinity = peers_.state_name(*name);
  if (arrival.from->affinity != *name)
    headers =
        affinity_headers(arrival.from->affinity, cookie_path(parts_.config.path, connection.head().path));
  arrival.message = std::move(message);
  parts_.starter.start(connection, std::move(arrival), std::move(headers));
}

void McpEndpoint::initialize(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                             uint64_t bytes) {
  const std::string_view raw_id = message.raw(Field::id);
  if (!message.is_object(Field::params) || !message.is_string(Field::params_protocol_version)) {
    return parts_.refusals.refuse(connection, invalid_params("initialize needs params.protocolVersion"),
                                  raw_id);
  }
  if (parts_.exchanges.keeps_sessions(server) == false) {
    core::IncomingMessage arrival =
        parts_.starter.legacy_arrival(connection, server, std::move(message), bytes);
    arrival.headers = with_revision(connection.head().headers, std::move(arrival.headers));
    return parts_.starter.start(connection, std::move(arrival));
  }
  Session* session = parts_.sessions.open(connection, server, SessionDirectory::Opener::client);
  if (session == nullptr)
    return parts_.refusals.refuse(connection, too_many_sessions(message, server), raw_id);
  core::IncomingMessage arrival =
      parts_.starter.legacy_arrival(connection, server, std::move(message), bytes);
  place_in(*session, arrival);
  parts_.starter.start(connection, std::move(arrival));
}

void McpEndpoint::request_in_session(ClientConnection& connection, const std::string& server,
                                     mcp::Message&& message, uint64_t bytes) {
  const std::string_view raw_id = message.raw(Field::id);
  Session* session = parts_.sessions.find(connection);
  if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none(), raw_id);
  if (auto refusal = check_legacy_version(connection.head().headers, session->revision))
    return parts_.refusals.refuse(connection, *refusal, raw_id);
  parts_.starter.start_in_session(
      connection, *session, parts_.starter.legacy_arrival(connection, server, std::move(message), bytes));
}

// A request without era and session. A server that keeps no sessions gets it unchanged. For other servers a
// known client has a session already, and a legacy version header makes Lineward open one.
void McpEndpoint::request_without_session(ClientConnection& connection, const std::string& server,
                                          mcp::Message&& message, uint64_t bytes) {
  const http::HeaderList& headers = connection.head().headers;
  if (names_other_version(headers) || headers.count("Mcp-Session-Id") > 0)
    return refuse_without_session(connection, message.raw(Field::id));
  if (parts_.sessions.goes_without(connection, server)) {
    core::IncomingMessage arrival =
        parts_.starter.legacy_arrival(connection, server, std::move(message), bytes);
    arrival.from->revision = std::string(legacy_revision_named(headers));
    arrival.headers = with_revision(headers, std::move(arrival.headers));
    return parts_.starter.start(connection, std::move(arrival));
  }
  Session* session = parts_.sessions.find_unnamed(connection, server);
  const bool keeps = parts_.exchanges.keeps_sessions(server).has_value();
  if (session == nullptr && keeps && !parts_.sessions.may_open(connection, server)) {
    const std::string why = SessionDirectory::why_unknown(connection);
    if (why.empty()) return refuse_without_session(connection, message.raw(Field::id));
    return parts_.refusals.refuse(
        connection, invalid_request("this request names no session (Mcp-Session-Id), and " + why),
        message.raw(Field::id));
  }
  if (session == nullptr || session->opening)
    return opener_.open_for(connection, server, session, std::move(message), bytes);
  session->served_unnamed = true;
  core::IncomingMessage arrival =
      parts_.starter.legacy_arrival(connection, server, std::move(message), bytes);
  arrival.from->http_status_visible = !session->by_gateway;
  parts_.starter.start_in_session(connection, *session, std::move(arrival));
}

void McpEndpoint::on_session_opened(ClientConnection& connection, const std::string& server,
                                    mcp::Message message, uint64_t bytes) {
  const bool passes = parts_.exchanges.keeps_sessions(server) == false;
  if (!passes && parts_.sessions.find_unnamed(connection, server) == nullptr)
    return refuse_without_session(connection, message.raw(Field::id));
  request_without_session(connection, server, std::move(message), bytes);
}

void McpEndpoint::refuse_without_session(ClientConnection& connection, std::string_view raw_id) {
  parts_.refusals.refuse(
      connection,
      invalid_request("this request belongs to no session (Mcp-Session-Id) and names no protocol version in "
                      "params._meta; start with initialize or server/discover"),
      raw_id);
}

// ---- notifications and answers ----

void McpEndpoint::notification(ClientConnection& connection, const std::string& server,
                               mcp::Message message) {
  const http::HeaderList& headers = connection.head().headers;
  core::IncomingMessage arrival = parts_.starter.of_client(connection, server);
  arrival.from->method = mcp::method_of(message.method());
  arrival.from->bytes_in = message.bytes().size();
  auto era = era_of(message, headers);
  const Session* settles = nullptr;
  PeerRouter::Word word;  // for the other replicas, unless the message is refused
  bool is_word = false;   // of another replica, which has judged it
  Session* unnamed = era ? nullptr : parts_.sessions.find_unnamed(connection, server);
  if (unnamed != nullptr) era = mcp::Era::legacy;
  if (era && *era == mcp::Era::legacy) {
    Session* session = unnamed != nullptr ? unnamed : parts_.sessions.find_as_owner(connection);
    if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none());
    if (session->shared() != nullptr && arrival.from->method == mcp::Method::initialized) settles = session;
    if (session->shared() != nullptr && arrival.from->method == mcp::Method::cancelled) {
      word = peers_.word(connection);
      is_word = connection.facts().passed_by_peer;
    }
    if (auto refusal = check_legacy_version(headers, session->revision))
      return parts_.refusals.refuse(connection, *refusal);
    parts_.sessions.table().touch(*session);
    arrival.from->era = mcp::Era::legacy;
    arrival.from->session = session->id;
    arrival.from->upstream = session->upstream;
  } else if (!era && parts_.sessions.goes_without(connection, server)) {
    arrival.from->era = mcp::Era::legacy;
    arrival.headers = with_revision(headers, parts_.router.forwarded(connection, server, Mirrored::no));
  }
  const bool placed = era || arrival.from->era == mcp::Era::legacy;
  arrival.message = std::move(message);
  if (auto denial = is_word ? std::nullopt : parts_.exchanges.judge(arrival))
    return parts_.refusals.refuse(connection, denied(std::move(*denial), ToldPolicies::yes));
  if (arrival.from->era == mcp::Era::modern && parts_.router.table().keep_state.count(server) > 0) {
    if (auto name = affinity_of(headers)) arrival.from->affinity = std::move(*name);
  }
  // Sending the answer invalidates the head, so the headers are copied first.
  if (era) {
    const bool modern = arrival.from->era == mcp::Era::modern;
    arrival.headers =
        parts_.router.forwarded(connection, arrival.from->upstream, modern ? Mirrored::yes : Mirrored::no);
  }
  if (settles == nullptr) connection.respond(202, {}, {});
  if (word) peers_.tell_others(word, PeerRouter::of_cancel(arrival.message));
  if (!placed) return;  // it belongs to no known call or session: accepted, counted, not forwarded
  parts_.exchanges.notified(std::move(arrival));
  if (settles != nullptr) accept_when_settled(connection, *settles);
}

// The client's next request may go to another replica, and must not reach the server before this
// notification.
void McpEndpoint::accept_when_settled(ClientConnection& connection, const Session& session) {
  auto accept = [this, asker = &connection] {
    auto waiting = unsettled_.find(asker);
    if (waiting == unsettled_.end()) return;  // it was closed or answered
    parts_.loop.retire(std::move(waiting->second));
    unsettled_.erase(waiting);
    asker->respond(202, {}, {});
  };
  auto& limit = unsettled_[&connection];
  limit = std::make_unique<net::Timer>(parts_.loop);
  limit->start(kSettled, accept);
  parts_.exchanges.when_settled(session.id, lifetime_.guard(accept));
}

void McpEndpoint::no_message_came(ClientConnection& connection, const mcp::MessageFault& fault) {
  const HttpError refusal = no_message(fault);
  if (auto instead = mcp::in_place_of_answer(fault)) return answer(connection, std::move(*instead), &refusal);
  parts_.refusals.refuse(connection, refusal, fault.id_to_refuse());
}

void McpEndpoint::answer(ClientConnection& connection, mcp::Message message, const HttpError* refusal) {
  const auto accept = [&] {
    if (refusal == nullptr) return connection.respond(202, {}, {});
    parts_.refusals.refuse(connection, *refusal);
  };
  Session* session = parts_.sessions.find_meant(connection);
  if (session == nullptr && !names_session(connection.head().headers)) {
    return parts_.refusals.refuse(
        connection,
        invalid_request("a client sends requests and notifications; responses belong to a legacy session"));
  }
  if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none());
  parts_.sessions.table().touch(*session);
  if (session->shared() != nullptr && connection.facts().passed_by_peer) {
    accept();
    parts_.exchanges.answered(session->id, std::move(message), core::AnswerCame::elsewhere);
    return;
  }
  core::IncomingMessage arrival = arrival_of(*session);
  arrival.from->peer = connection.client();
  arrival.from->caller = connection.caller();
  arrival.from->bytes_in = message.bytes().size();
  arrival.message = std::move(message);
  if (auto denial = parts_.exchanges.judge(arrival))
    return parts_.refusals.refuse(connection, denied(std::move(*denial), ToldPolicies::yes));
  // The head is invalid after the answer, the id after the message is moved.
  const PeerRouter::Word word = session->shared() != nullptr ? peers_.word(connection) : std::nullopt;
  const std::string told = word ? PeerRouter::of_answer(arrival.message.raw(Field::id)) : std::string();
  accept();
  if (parts_.exchanges.answered(arrival.from->session, std::move(arrival.message), core::AnswerCame::here))
    peers_.tell_others(word, told);
}

}  // namespace lineward::client

#include "proxy/client/endpoint/legacy_sse_endpoint.h"

#include <unordered_set>
#include <utility>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/session/sse_reply.h"

namespace lineward::client {

using mcp::Field;

LegacySseEndpoint::LegacySseEndpoint(const EndpointParts& parts) : parts_(parts) {}

bool LegacySseEndpoint::serve(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  const PathTable& paths = parts_.router.table();
  const std::string path(head.path);
  auto stream = paths.sse_streams.find(path);
  if (stream != paths.sse_streams.end()) {
    if (head.method == "GET") {
      open(connection, stream->second, paths.sse_post_of.at(path));
    } else {
      parts_.refusals.refuse(
          connection, not_allowed("GET", "this is the event stream of the HTTP+SSE transport: GET it"));
    }
    return true;
  }
  auto posts = paths.sse_posts.find(path);
  if (posts == paths.sse_posts.end()) return false;
  if (head.method == "POST") {
    post(connection, posts->second, std::move(body));
  } else {
    parts_.refusals.refuse(connection,
                           not_allowed("POST", "messages of the HTTP+SSE transport are sent by POST"));
  }
  return true;
}

void LegacySseEndpoint::open(ClientConnection& connection, const std::string& server,
                             const std::string& post_path) {
  if (!accepts(connection.head().headers).events)
    return parts_.refusals.refuse(connection, not_acceptable("Accept must allow text/event-stream"));
  if (parts_.refuse_for_load(connection)) return;
  Session* session = parts_.sessions.table().create(connection.principal(), server, connection.account());
  if (session == nullptr)
    return parts_.refusals.refuse(connection, unavailable("too many sessions (lineward listen.maxSessions)"));
  session->one_stream = true;
  session->path = post_path;
  session->listener = connection.listener();
  session->open_get_stream([&](SessionStream&) {
    auto reply = std::make_unique<HttpReply>(
        parts_.loop, connection, reply_options(connection, parts_.config, parts_.router.table()),
        [this, id = session->id](mcp::EndReason) { parts_.exchanges.session_ended(id); });
    reply->announce("endpoint",
                    post_path + "?" + std::string(kSessionParameter) + parts_.sessions.shown_id(*session));
    return reply;
  });
}

// The POST path that these clients were given now leads elsewhere, or nowhere: they must open a new stream.
void LegacySseEndpoint::paths_changed() {
  const PathTable& paths = parts_.router.table();
  std::unordered_set<std::string> offered;
  for (const auto& [path, server] : paths.sse_streams)
    offered.insert(server);
  SessionTable& sessions = parts_.sessions.table();
  for (const std::string& id : sessions.ids()) {
    Session* one = sessions.find(id);
    if (one == nullptr || !one->one_stream) continue;
    auto posts = paths.sse_posts.find(one->path);
    const bool leads = posts != paths.sse_posts.end() && posts->second == one->upstream;
    one->ends_when_idle = !leads || offered.count(one->upstream) == 0;
    if (one->ends_when_idle && one->exchanges == 0) parts_.exchanges.session_ended(id);
  }
}

// A client of both eras asks first what the server speaks, and goes on with `initialize` if its question gets
// an error as a message. It gives up at an HTTP status.
void LegacySseEndpoint::refuse_modern(ClientConnection& connection, Session& session,
                                      const mcp::Message& message) {
  constexpr std::string_view kWhy = "2026-07-28 is not spoken over HTTP+SSE; POST to the MCP path";
  if (parts_.sessions.find_as_owner(connection) == nullptr)
    return parts_.refusals.refuse(connection, session_not_found());
  if (message.kind() != mcp::MessageKind::request)
    return parts_.refusals.refuse(connection, invalid_request(std::string(kWhy)));
  parts_.sessions.table().touch(session);
  connection.respond(202, "text/plain", "Accepted");
  const bool asks = mcp::method_of(message.method()) == mcp::Method::server_discover;
  SseReply(parts_.sessions.table(), session.id)
      .finish(mcp::error_message(message.raw(Field::id), asks ? mcp::kMethodNotFound : mcp::kInvalidRequest,
                                 kWhy),
              200);
}

void LegacySseEndpoint::post(ClientConnection& connection, const std::string& server, std::string body) {
  Session* session = parts_.sessions.find_opened_here(connection);
  if (session == nullptr) return parts_.refusals.refuse(connection, session_not_found());
  if (auto refusal = check_post_headers(connection.head().headers))
    return parts_.refusals.refuse(connection, *refusal);
  const uint64_t bytes = body.size();
  if (!parts_.router.fits(bytes, server))
    return parts_.refusals.refuse(connection, parts_.router.body_too_large(server));
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(parts_.config.max_depth));
  if (!parsed) {
    auto answer = mcp::in_place_of_answer(parsed.error());
    const bool counts = answer && parts_.sessions.find_as_owner(connection) == session;
    parts_.refusals.refuse(connection, no_message(parsed.error()), parsed.error().id_to_refuse());
    if (counts) parts_.exchanges.answered(session->id, std::move(*answer), core::AnswerCame::here);
    return;
  }
  const mcp::MessageKind kind = parsed->kind();
  if (parsed->has(Field::meta_protocol_version)) return refuse_modern(connection, *session, *parsed);
  if (kind != mcp::MessageKind::request && parts_.sessions.find_as_owner(connection) == nullptr)
    return parts_.refusals.refuse(connection, session_not_found());
  const bool opens =
      kind == mcp::MessageKind::request && mcp::method_of(parsed->method()) == mcp::Method::initialize;
  // The stream is the session, so the session exists before its `initialize`, which is accepted once.
  if (opens && std::exchange(session->asked_to_open, true)) {
    return parts_.refusals.refuse(connection,
                                  invalid_request("this session is initialized already, or about to be"),
                                  parsed->raw(Field::id));
  }
  const bool leads = !session->ends_when_idle && session->upstream == server;
  if (!leads && kind == mcp::MessageKind::request)
    return parts_.refusals.refuse(connection, parts_.router.nothing_here(), parsed->raw(Field::id));
  parts_.sessions.table().touch(*session);
  core::IncomingMessage arrival =
      parts_.starter.legacy_arrival(connection, session->upstream, std::move(*parsed), bytes);
  arrival.from->wire = mcp::Wire::sse;
  arrival.from->http_status_visible = false;
  place_in(*session, arrival);
  if (kind != mcp::MessageKind::request) {
    if (auto denial = parts_.exchanges.judge(arrival))
      return parts_.refusals.refuse(connection, denied(std::move(*denial), ToldPolicies::yes));
  }
  connection.respond(202, "text/plain", "Accepted");
  switch (kind) {
    case mcp::MessageKind::request:
      parts_.exchanges.start(std::move(arrival),
                             std::make_unique<SseReply>(parts_.sessions.table(), session->id));
      return;
    case mcp::MessageKind::notification: return parts_.exchanges.notified(std::move(arrival));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error:
      parts_.exchanges.answered(arrival.from->session, std::move(arrival.message), core::AnswerCame::here);
      return;
  }
}

}  // namespace lineward::client

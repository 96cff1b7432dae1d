// The HTTP+SSE transport of 2024-11-05 towards clients, off by default (`listen.legacySse`): a GET stream
// that begins with the address for POSTs, and carries every message of the server. The stream is the session:
// both end together. The third part of client/http_front.h.
#include <utility>

#include "client/http_front.h"
#include "client/sse_reply.h"
#include "mcp/errors.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr std::string_view kParameter = "sessionId=";

}  // namespace

std::string_view session_in_query(std::string_view target) {
  size_t at = target.find('?');
  while (at != std::string_view::npos) {
    std::string_view rest = target.substr(at + 1);
    size_t end = rest.find('&');
    if (rest.substr(0, kParameter.size()) == kParameter) {
      rest.remove_prefix(kParameter.size());
      return rest.substr(0, rest.find('&'));
    }
    at = end == std::string_view::npos ? end : at + 1 + end;
  }
  return {};
}

bool HttpFront::sse_request(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  std::string path(head.path);
  auto stream = paths_.sse_streams.find(path);
  if (stream != paths_.sse_streams.end()) {
    if (head.method == "GET") {
      open_sse(connection, stream->second);
    } else {
      refuse(connection, {405, 405, "this is the event stream of the HTTP+SSE transport: GET it", {}, "GET"});
    }
    return true;
  }
  auto posts = paths_.sse_posts.find(path);
  if (posts == paths_.sse_posts.end()) return false;
  if (head.method == "POST") {
    post_sse(connection, posts->second, std::move(body));
  } else {
    refuse(connection, {405, 405, "messages of the HTTP+SSE transport are sent by POST", {}, "POST"});
  }
  return true;
}

void HttpFront::open_sse(ClientConnection& connection, const std::string& server) {
  if (!accepts(connection.head().headers).events)
    return refuse(connection, {406, 406, "Accept must allow text/event-stream", {}, {}});
  Session* session = sessions_.create(principal_of(connection), server, connection.account());
  if (session == nullptr)
    return refuse(connection, {503, 503, "too many sessions (lineward listen.maxSessions)", {}, {}});
  session->one_stream = true;
  std::string post_path;
  for (const auto& [path, name] : paths_.sse_posts) {
    if (name == server) post_path = path;
  }
  session->open_get_stream([&](SessionStream&) {
    auto reply =
        std::make_unique<HttpReply>(loop_, connection, reply_options(connection),
                                    [this, id = session->id](mcp::EndReason) { door_.session_ended(id); });
    reply->announce("endpoint", post_path + "?" + std::string(kParameter) + shown_id(*session));
    return reply;
  });
}

void HttpFront::post_sse(ClientConnection& connection, const std::string& server, std::string body) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = find_session(connection);
  if (session == nullptr || session->upstream != server)
    return refuse(connection, {404, 404, "Session not found", {}, {}});
  if (auto refusal = check_post_headers(headers)) return refuse(connection, *refusal);
  uint64_t bytes = body.size();
  if (bytes > most_bytes(server)) return refuse_size(connection, server);
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(config_.max_depth));
  if (!parsed) {
    const mcp::MessageFault& fault = parsed.error();
    int code = fault.kind == mcp::MessageFault::Kind::not_json ? mcp::kParseError : mcp::kInvalidRequest;
    return refuse(connection, {400, code, fault.text, {}, {}}, fault.raw_id);
  }
  if (parsed->has(Field::meta_protocol_version)) {
    return refuse(
        connection,
        {400, mcp::kInvalidRequest, "2026-07-28 is not spoken over HTTP+SSE; POST to the MCP path", {}, {}},
        parsed->raw(Field::id));
  }
  core::Arrival arrival;
  arrival.method = mcp::method_of(parsed->method());
  const bool opens = parsed->kind() == mcp::MessageKind::request && arrival.method == mcp::Method::initialize;
  // The stream is the session, so it is there before this; it is opened once.
  if (opens && std::exchange(session->asked_to_open, true)) {
    return refuse(connection,
                  {400, mcp::kInvalidRequest, "this session is initialized already, or about to be", {}, {}},
                  parsed->raw(Field::id));
  }
  sessions_.touch(*session);
  arrival.era = mcp::Era::legacy;
  arrival.sees_status = false;
  arrival.revision = session->revision;
  arrival.upstream = server;
  arrival.session = session->id;
  arrival.principal = session->principal;
  arrival.account = session->account();
  arrival.peer = connection.peer();
  arrival.wait = preferred_wait(headers);
  arrival.bytes_in = bytes;
  arrival.headers = forwarded(connection, server, false);
  arrival.caller = connection.caller();
  arrival.seen = seen_by_plugins(connection);
  const mcp::MessageKind kind = parsed->kind();
  arrival.message = std::move(*parsed);
  if (kind != mcp::MessageKind::request) {
    if (auto denial = door_.judge(arrival)) return turn_away(connection, std::move(*denial), true);
  }
  connection.respond(202, "text/plain", "Accepted");
  switch (kind) {
    case mcp::MessageKind::request:
      door_.start(std::move(arrival), std::make_unique<SseReply>(sessions_, session->id));
      return;
    case mcp::MessageKind::notification: return door_.notified(std::move(arrival));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return door_.answered(arrival.session, std::move(arrival.message));
  }
}

}  // namespace lineward::client

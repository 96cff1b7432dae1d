#include "proxy/client/endpoint/session_endpoint.h"

#include <algorithm>
#include <utility>

#include "proxy/client/http/admission.h"

namespace lineward::client {

SessionEndpoint::SessionEndpoint(const EndpointParts& parts, const std::shared_ptr<core::Gate>& gate)
    : parts_(parts), gate_(gate) {}

void SessionEndpoint::get(ClientConnection& connection) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = parts_.sessions.find_meant(connection);
  if (session == nullptr && answered_by_server(connection)) return;
  if (session == nullptr && !names_session(headers)) {
    return parts_.refusals.refuse(
        connection, not_allowed("POST", "GET opens a stream in a legacy session only (Mcp-Session-Id)"));
  }
  if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none());
  if (!accepts(headers).events)
    return parts_.refusals.refuse(connection, not_acceptable("Accept must allow text/event-stream"));
  parts_.sessions.table().touch(*session);
  if (!parts_.refuse_for_load(connection)) open_stream(connection, *session);
}

void SessionEndpoint::open_stream(ClientConnection& connection, Session& session) {
  const http::HeaderList& headers = connection.head().headers;
  std::string shown(headers.get("Mcp-Session-Id"));
  uint64_t after = 0;
  const bool resumes = headers.count("Last-Event-ID") > 0;
  SessionStream* stream = resumes ? session.resumable(headers.get("Last-Event-ID"), after) : nullptr;
  // Another replica may have sent that event and be gone: the client's stream continues as a new one.
  if (!resumes || (stream == nullptr && session.shared() != nullptr)) {
    session.open_get_stream(
        [&](SessionStream& opened) { return parts_.starter.transport(connection, session, opened, shown); });
    return parts_.starter.watch_stream(connection, session);
  }
  if (stream == nullptr) {
    return parts_.refusals.refuse(
        connection, not_allowed("POST, DELETE", "this stream has ended, or its events are no longer kept"));
  }
  // No priming event before the missing events: its id would set the client back.
  auto renewed = parts_.starter.transport(connection, session, *stream, shown, ExchangeStarter::Primes::no);
  stream->resume(after, std::move(renewed));
  session.flush_waiting(*stream);
  parts_.starter.watch_stream(connection, session);
}

void SessionEndpoint::remove(ClientConnection& connection) {
  Session* session = parts_.sessions.find_meant(connection);
  if (session == nullptr && answered_by_server(connection)) return;
  if (session == nullptr && !names_session(connection.head().headers)) {
    return parts_.refusals.refuse(connection,
                                  not_allowed("POST", "DELETE ends a legacy session (Mcp-Session-Id)"));
  }
  if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none());
  std::string id = session->id;
  session->deleted = true;
  connection.respond(200, {}, {});
  parts_.exchanges.session_ended(id);
}

bool SessionEndpoint::answered_by_server(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const std::string* server = parts_.router.facts(connection).server;
  if (server == nullptr || !parts_.sessions.goes_without(connection, *server)) return false;
  const bool is_get = head.method == "GET";
  if (is_get && !accepts(head.headers).events) return false;
  // Policies cannot read a pass-through stream; a server need not offer one.
  if (is_get && gate_ && gate_->reads_all()) return false;
  if (is_get && parts_.refuse_for_load(connection)) return true;
  core::HopRequest request;
  request.method = is_get ? "GET" : "DELETE";
  request.headers = with_revision(head.headers, parts_.router.forwarded(connection, *server, Mirrored::no));
  if (head.headers.count("Last-Event-ID") == 1)
    request.headers.emplace_back("Last-Event-ID", head.headers.get("Last-Event-ID"));
  auto reply = std::make_unique<PassedReply>(parts_.loop, connection,
                                             reply_options(connection, parts_.config, parts_.router.table()));
  auto pass = std::make_unique<PassThroughRequest>(parts_.loop, std::move(reply),
                                                   [this](PassThroughRequest& passed) { over(passed); });
  if (!pass->begin(parts_.exchanges, *server, std::move(request))) {
    pass->give_up();
    return false;
  }
  passes_.push_back(std::move(pass));
  return true;
}

void SessionEndpoint::over(PassThroughRequest& pass) {
  auto found =
      std::find_if(passes_.begin(), passes_.end(), [&](const auto& one) { return one.get() == &pass; });
  if (found == passes_.end()) return;
  parts_.loop.retire(std::move(*found));
  passes_.erase(found);
}

void SessionEndpoint::drain() {
  std::vector<PassThroughRequest*> passes;
  for (auto& pass : passes_)
    passes.push_back(pass.get());
  for (PassThroughRequest* pass : passes)
    pass->drain();  // which may end it
}

}  // namespace lineward::client

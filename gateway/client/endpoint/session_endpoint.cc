#include "client/endpoint/session_endpoint.h"

#include <algorithm>
#include <utility>

#include "client/http/admission.h"
#include "config/load_levels.h"
#include "metrics/stats.h"

namespace lineward::client {

SessionEndpoint::SessionEndpoint(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                                 core::ExchangeDoor& door, const RefusalWriter& refusals,
                                 SessionDirectory& sessions, ExchangeStarter& starter,
                                 const std::shared_ptr<core::Gate>& gate)
    : loop_(loop),
      config_(config),
      router_(router),
      door_(door),
      refusals_(refusals),
      sessions_(sessions),
      starter_(starter),
      gate_(gate) {}

void SessionEndpoint::get(ClientConnection& connection) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = sessions_.find_meant(connection);
  if (session == nullptr && answered_by_server(connection)) return;
  if (session == nullptr && !names_session(headers)) {
    return refusals_.refuse(
        connection, not_allowed("POST", "GET opens a stream in a legacy session only (Mcp-Session-Id)"));
  }
  if (session == nullptr) return refusals_.refuse(connection, session_not_found());
  if (!accepts(headers).events)
    return refusals_.refuse(connection, not_acceptable("Accept must allow text/event-stream"));
  sessions_.table().touch(*session);
  if (!refused_for_load(connection)) open_stream(connection, *session);
}

void SessionEndpoint::open_stream(ClientConnection& connection, Session& session) {
  const http::HeaderList& headers = connection.head().headers;
  std::string shown(headers.get("Mcp-Session-Id"));
  uint64_t after = 0;
  const bool resumes = headers.count("Last-Event-ID") > 0;
  SessionStream* stream = resumes ? session.resumable(headers.get("Last-Event-ID"), after) : nullptr;
  // Another replica may have given out that event, and be no more: the client's stream goes on as a new one.
  if (!resumes || (stream == nullptr && session.shared() != nullptr)) {
    session.open_get_stream(
        [&](SessionStream& opened) { return starter_.transport(connection, session, opened, shown); });
    return starter_.watch_stream(connection, session);
  }
  if (stream == nullptr) {
    return refusals_.refuse(
        connection, not_allowed("POST, DELETE", "this stream has ended, or its events are no longer kept"));
  }
  // It has no event before the ones that are missing: a priming one would set the client back.
  auto renewed = starter_.transport(connection, session, *stream, shown, ExchangeStarter::Primes::no);
  stream->resume(after, std::move(renewed));
  session.flush_waiting(*stream);
  starter_.watch_stream(connection, session);
}

void SessionEndpoint::remove(ClientConnection& connection) {
  Session* session = sessions_.find_meant(connection);
  if (session == nullptr && answered_by_server(connection)) return;
  if (session == nullptr && !names_session(connection.head().headers)) {
    return refusals_.refuse(connection, not_allowed("POST", "DELETE ends a legacy session (Mcp-Session-Id)"));
  }
  if (session == nullptr) return refusals_.refuse(connection, session_not_found());
  std::string id = session->id;
  session->deleted = true;
  connection.respond(200, {}, {});
  door_.session_ended(id);
}

bool SessionEndpoint::refused_for_load(ClientConnection& connection) {
  if (config::load_of(HeldBytes::total(), config_) < config::Load::no_streams) return false;
  ++core::stats().overload[static_cast<size_t>(core::Overload::streams)];
  refusals_.refuse(connection, unavailable("no new streams for now (listen.maxBufferedBytes)"));
  return true;
}

bool SessionEndpoint::answered_by_server(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const std::string* server = router_.facts(connection).server;
  if (server == nullptr || !sessions_.goes_without(connection, *server)) return false;
  const bool is_get = head.method == "GET";
  if (is_get && !accepts(head.headers).events) return false;
  // What goes through as bytes no policy can read; a server need not have such a stream.
  if (is_get && gate_ && gate_->reads_all()) return false;
  if (is_get && refused_for_load(connection)) return true;
  core::HopRequest request;
  request.method = is_get ? "GET" : "DELETE";
  request.headers = with_revision(head.headers, router_.forwarded(connection, *server, Mirrored::no));
  if (head.headers.count("Last-Event-ID") == 1)
    request.headers.emplace_back("Last-Event-ID", head.headers.get("Last-Event-ID"));
  auto reply =
      std::make_unique<PassedReply>(loop_, connection, reply_options(connection, config_, router_.table()));
  auto pass =
      std::make_unique<PlainPass>(loop_, std::move(reply), [this](PlainPass& passed) { over(passed); });
  if (!pass->begin(door_, *server, std::move(request))) {
    pass->give_up();
    return false;
  }
  passes_.push_back(std::move(pass));
  return true;
}

void SessionEndpoint::over(PlainPass& pass) {
  auto found =
      std::find_if(passes_.begin(), passes_.end(), [&](const auto& one) { return one.get() == &pass; });
  if (found == passes_.end()) return;
  loop_.retire(std::move(*found));
  passes_.erase(found);
}

void SessionEndpoint::drain() {
  std::vector<PlainPass*> passes;
  for (auto& pass : passes_)
    passes.push_back(pass.get());
  for (PlainPass* pass : passes)
    pass->drain();  // which may end it
}

}  // namespace lineward::client

#include "proxy/client/endpoint/exchange_starter.h"

#include <utility>

#include "config/load_levels.h"
#include "foundation/base/memory_charge.h"
#include "protocol/mcp/probe.h"
#include "proxy/metrics/limits.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {
namespace {

// A proxy may consider a request without any answer lost, or retry it when the connection breaks before a
// head (docs/proxies.md).
constexpr std::chrono::milliseconds kHeadWithin{1000};
// Longer than any stream without comments lasts.
constexpr std::chrono::milliseconds kNoComments = 2 * mcp::kMaxProbeTime;

}  // namespace

ReplyOptions reply_options(ClientConnection& connection, const config::Listen& config,
                           const PathTable& paths) {
  const Accepts takes = connection.facts().takes;
  ReplyOptions options;
  options.takes_json = takes.json;
  options.takes_events = takes.events;
  options.minor_version = connection.head().minor_version;
  options.comment_every = config.keep_alive;
  options.beats_twice = !connection.is_direct();
  options.max_backlog_bytes = config.max_stream_backlog_bytes;
  options.write_timeout = config.write_timeout;
  options.resource = paths.resource;
  return options;
}

ExchangeStarter::ExchangeStarter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                                 core::ExchangeApi& exchanges, SessionDirectory& sessions,
                                 const std::shared_ptr<core::Gate>& gate)
    : loop_(loop),
      config_(config),
      router_(router),
      exchanges_(exchanges),
      sessions_(sessions),
      gate_(gate) {}

core::HeaderFields ExchangeStarter::seen_by_plugins(const ClientConnection& connection) const {
  core::HeaderFields out;
  if (!gate_ || gate_->headers_wanted().empty()) return out;
  const http::HeaderList& headers = connection.head().headers;
  for (const std::string& name : gate_->headers_wanted()) {
    if (headers.count(std::string_view(name)) == 1)
      out.emplace_back(name, std::string(headers.get(std::string_view(name))));
  }
  return out;
}

core::IncomingMessage arrival_of(const Session& session) {
  core::IncomingMessage arrival;
  arrival.from->era = mcp::Era::legacy;
  arrival.from->upstream = session.upstream;
  arrival.from->principal = session.principal;
  arrival.from->listener = session.listener;
  place_in(session, arrival);
  return arrival;
}

void place_in(const Session& session, core::IncomingMessage& arrival) {
  arrival.from->session = session.id;
  arrival.from->revision = session.revision;
  arrival.from->account = session.account();
}

core::IncomingMessage ExchangeStarter::of_client(const ClientConnection& connection,
                                                 const std::string& server) const {
  core::IncomingMessage arrival;
  arrival.from->upstream = server;
  arrival.from->principal = connection.principal();
  arrival.from->listener = connection.listener();
  arrival.from->peer = connection.client();
  arrival.from->caller = connection.caller();
  return arrival;
}

core::IncomingMessage ExchangeStarter::arrival(ClientConnection& connection, const std::string& server,
                                               Mirrored mirrored) const {
  core::IncomingMessage arrival = of_client(connection, server);
  arrival.from->wait = connection.facts().wait;
  arrival.from->account = connection.account();
  arrival.from->own_connection = !connection.sharing().shared() && !connection.facts().passed_by_peer &&
                                 !connection.facts().through_proxy;
  arrival.from->seen = seen_by_plugins(connection);
  arrival.sends_param_headers = mirrored == Mirrored::yes;
  arrival.headers = router_.forwarded(connection, server, mirrored);
  arrival.from->authorization = authorization_of(arrival.headers);
  return arrival;
}

core::IncomingMessage ExchangeStarter::legacy_arrival(ClientConnection& connection, const std::string& server,
                                                      mcp::Message&& message, uint64_t bytes) const {
  core::IncomingMessage legacy = arrival(connection, server, Mirrored::no);
  legacy.from->method = mcp::method_of(message.method());
  legacy.from->era = mcp::Era::legacy;
  legacy.from->bytes_in = bytes;
  legacy.message = std::move(message);
  return legacy;
}

void ExchangeStarter::start(ClientConnection& connection, core::IncomingMessage&& arrival,
                            std::vector<http::OutHeader> headers, Comments comments) {
  ReplyOptions options = reply_options(connection, config_, router_.table());
  options.headers = std::move(headers);
  if (mcp::may_take_long(arrival.from->method)) options.head_within = kHeadWithin;
  if (comments == Comments::no) options.comment_every = kNoComments;
  if (arrival.from->method == mcp::Method::initialize && !arrival.from->session.empty()) {
    options.name_session = [this, id = arrival.from->session] { return sessions_.name_for_client(id); };
  }
  // The gone callback can fire only after start() has returned, so the id is known by then. The reply lives
  // at least until the end of the turn.
  auto reply = std::make_unique<HttpReply>(loop_, connection, std::move(options), nullptr);
  HttpReply* raw = reply.get();
  raw->on_client_left([this, raw](mcp::EndReason why) { exchanges_.client_left(raw->exchange(), why); });
  core::ExchangeId id = exchanges_.start(std::move(arrival), std::move(reply));
  raw->set_exchange(id);
}

void ExchangeStarter::start_in_session(ClientConnection& connection, Session& session,
                                       core::IncomingMessage&& arrival) {
  place_in(session, arrival);
  sessions_.table().touch(session);
  SessionStream& stream = session.open_post_stream(nullptr);
  stream.on_client_left(
      [this, &stream](mcp::EndReason why) { exchanges_.client_left(stream.exchange(), why); });
  const bool takes_long = mcp::may_take_long(arrival.from->method);
  stream.attach(transport(connection, session, stream, {}, Primes::yes, takes_long));
  auto reply = std::make_unique<SessionReply>(sessions_.table(), session.id, stream.number());
  const core::ExchangeId id = exchanges_.start(std::move(arrival), std::move(reply));
  stream.set_exchange(id);  // the stream lives until the end of the turn in any case
}

std::unique_ptr<HttpReply> ExchangeStarter::transport(ClientConnection& connection, Session& session,
                                                      SessionStream& stream, std::string session_header,
                                                      Primes primes, bool takes_long) {
  ReplyOptions options = reply_options(connection, config_, router_.table());
  if (takes_long) options.head_within = kHeadWithin;
  options.session_header = std::move(session_header);
  if (primes == Primes::yes && session.primes()) options.prime_id = stream.prime_id();
  auto lost = [this, id = session.id, number = stream.number()](mcp::EndReason why) {
    client_left(id, number, why);
  };
  return std::make_unique<HttpReply>(loop_, connection, std::move(options), std::move(lost));
}

void ExchangeStarter::client_left(const std::string& session, uint32_t stream, mcp::EndReason why) {
  Session* owner = sessions_.table().find(session);
  if (owner == nullptr) return;
  sessions_.table().touch(*owner);
  if (SessionStream* lost = owner->find_stream(stream)) lost->client_left(why);
  if (owner->shared() != nullptr && !owner->has_stream()) exchanges_.stream_closed(owner->id);
}

void ExchangeStarter::watch_stream(ClientConnection& connection, Session& session) {
  if (session.shared() == nullptr || !session.has_stream()) return;
  exchanges_.stream_opened(session.id, router_.forwarded(connection, session.upstream, Mirrored::no));
}

bool EndpointParts::refuse_for_load(ClientConnection& connection) const {
  if (config::load_of(MemoryCharge::total(), config) < config::Load::no_streams) return false;
  ++metrics::stats().overload[static_cast<size_t>(metrics::Overload::streams)];
  metrics::limit_reached(metrics::Limit::buffered_bytes);
  refusals.refuse(connection, unavailable("no new streams for now (listen.maxBufferedBytes)"));
  return true;
}

}  // namespace lineward::client

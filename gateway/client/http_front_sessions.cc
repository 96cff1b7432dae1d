// The part of HttpFront that serves legacy sessions beside their requests (answers, streams, the end), and
// finds out which session is meant by who names none (`sessions.missing`; BEHAVIOUR 1 and 13).
#include <algorithm>
#include <array>

#include "client/http_front.h"
#include "config/load_levels.h"
#include "core/stats.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kVersion = "MCP-Protocol-Version";

// The legacy revision that a request names by its header; empty: none.
std::string_view revision_named(const http::HeaderList& headers) {
  if (headers.count(kVersion) != 1) return {};
  const mcp::Revision* revision = mcp::find_revision(headers.get(kVersion));
  const bool legacy = revision != nullptr && revision->era == mcp::Era::legacy && revision->streamable_http;
  return legacy ? revision->name : std::string_view();
}

// The connection is a proxy's, which may bring any client's requests on it: it says nothing of who asks.
bool through_proxy(const http::HeaderList& headers) {
  static constexpr std::array<std::string_view, 3> kNames{"Via", "Forwarded", "X-Forwarded-For"};
  return std::any_of(kNames.begin(), kNames.end(), [&](auto name) { return headers.count(name) > 0; });
}

UnnamedSessions::Connection key_of(const ClientConnection& connection) {
  return through_proxy(connection.head().headers) ? nullptr : &connection;
}

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
  core::HeaderFields headers_;  // of the server's, that its client must see
};

}  // namespace

// ---- who names none ----

// The session that a client which never names one is in; null: none, or such clients are refused here.
Session* HttpFront::unnamed_session(ClientConnection& connection, const std::string& server) {
  const http::HeaderList& headers = connection.head().headers;
  if (headers.count("Mcp-Session-Id") > 0 || paths_.refuse_missing.count(server) > 0) return nullptr;
  if (headers.count(kVersion) > 0 && revision_named(headers).empty()) return nullptr;
  return unnamed_.find(key_of(connection), principal_of(connection), server,
                       credentials_of(forwarded(connection, server, false)));
}

// Of an answer, a GET or a DELETE; null: none, or one that is not known.
Session* HttpFront::session_meant(ClientConnection& connection) {
  if (names_session(connection.head().headers)) return find_session(connection);
  const std::string* server = facts(connection).server;
  return server != nullptr ? unnamed_session(connection, *server) : nullptr;
}

Session* HttpFront::open_session(ClientConnection& connection, const std::string& server,
                                 std::string_view raw_id) {
  Session* session = sessions_.create(principal_of(connection), server, connection.account());
  if (session != nullptr) {
    unnamed_.opened(key_of(connection), *session, credentials_of(forwarded(connection, server, false)));
    return session;
  }
  mcp::GatewayError full{
      mcp::EndReason::queue_full, "too many sessions (lineward listen.maxSessions)", server, {}};
  connection.respond(200, kJson, mcp::gateway_error(raw_id, full));
  return nullptr;
}

// What the client is told as the name of a session that is being opened. A server that keeps none has no use
// for it: nothing is made up, and nothing kept once its `initialize` is over, which may take a while yet.
std::string HttpFront::name_for_client(const std::string& id) {
  Session* opened = sessions_.find(id);
  if (opened == nullptr) return {};
  if (door_.keeps_sessions(opened->upstream) != false) return replicas_ ? shown_id(*opened) : id;
  opened->ends_when_idle = true;
  return {};
}

core::Arrival HttpFront::legacy_arrival(ClientConnection& connection, const std::string& server,
                                        mcp::Message&& message, uint64_t bytes) {
  core::Arrival arrival;
  arrival.method = mcp::method_of(message.method());
  arrival.era = mcp::Era::legacy;
  arrival.upstream = server;
  arrival.principal = principal_of(connection);
  arrival.peer = connection.peer();
  arrival.wait = connection.facts().wait;
  arrival.bytes_in = bytes;
  arrival.caller = connection.caller();
  arrival.account = connection.account();
  arrival.seen = seen_by_plugins(connection);
  arrival.headers = forwarded(connection, server, false);
  arrival.message = std::move(message);
  return arrival;
}

// Where no session has a revision the client's own goes on with each request.
core::SharedFields HttpFront::with_revision(const ClientConnection& connection,
                                            core::SharedFields fields) const {
  const std::string_view revision = revision_named(connection.head().headers);
  if (revision.empty()) return fields;
  core::HeaderFields more = fields;
  more.emplace_back(kVersion, revision);
  return more;
}

void HttpFront::refuse_eraless(ClientConnection& connection, std::string_view raw_id) {
  refuse(connection,
         {400,
          mcp::kInvalidRequest,
          "this request belongs to no session (Mcp-Session-Id) and names no protocol version in "
          "params._meta; start with initialize or server/discover",
          {},
          {}},
         raw_id);
}

bool HttpFront::passes_unnamed(const ClientConnection& connection, const std::string& server) const {
  const http::HeaderList& headers = connection.head().headers;
  const bool other_version = headers.count(kVersion) > 0 && revision_named(headers).empty();
  return !other_version && headers.count("Mcp-Session-Id") == 0 && door_.keeps_sessions(server) == false;
}

// A request that says neither its era nor its session. To a server that keeps no sessions it goes as it is;
// before another one a client that is known again has a session, and one that shows by its version header
// that it is a legacy one gets one.
void HttpFront::post_unnamed(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                             uint64_t bytes) {
  const http::HeaderList& headers = connection.head().headers;
  const bool other_version = headers.count(kVersion) > 0 && revision_named(headers).empty();
  if (other_version || headers.count("Mcp-Session-Id") > 0)
    return refuse_eraless(connection, message.raw(Field::id));
  if (passes_unnamed(connection, server)) {
    core::Arrival arrival = legacy_arrival(connection, server, std::move(message), bytes);
    arrival.revision = std::string(revision_named(headers));
    arrival.headers = with_revision(connection, std::move(arrival.headers));
    return start(connection, std::move(arrival));
  }
  Session* session = unnamed_session(connection, server);
  const bool keeps = door_.keeps_sessions(server).has_value();
  if (session == nullptr && keeps && !may_open(connection, server))
    return refuse_eraless(connection, message.raw(Field::id));
  if (session == nullptr || session->opening)
    return open_for(connection, server, session, std::move(message), bytes);
  session->served_unnamed = true;
  core::Arrival arrival = legacy_arrival(connection, server, std::move(message), bytes);
  arrival.sees_status = !session->by_gateway;
  start_in_session(connection, *session, std::move(arrival));
}

// May this request have a session made for it?
bool HttpFront::may_open(const ClientConnection& connection, const std::string& server) const {
  const bool found_again = key_of(connection) != nullptr || principal_of(connection) != core::kAnonymous;
  return found_again && !revision_named(connection.head().headers).empty() &&
         paths_.refuse_missing.count(server) == 0;
}

// Lineward initialises a session in the client's place, and learns by it whether the server keeps any. What
// was asked waits for that.
void HttpFront::open_for(ClientConnection& connection, const std::string& server, Session* session,
                         mcp::Message&& message, uint64_t bytes) {
  const bool opens = session == nullptr;
  if (opens) session = open_session(connection, server, message.raw(Field::id));
  if (session == nullptr) return;
  session->served_unnamed = true;
  session->opening = true;
  auto& slot = awaiting_session_[&connection];
  slot = std::make_unique<AwaitsSession>();
  AwaitsSession& waits = *slot;
  waits.session = session->id;
  waits.server = server;
  waits.message = std::move(message);
  waits.bytes = bytes;
  waits.held.charge(session->account());
  waits.held.set(bytes);
  if (!opens) return;
  session->by_gateway = true;
  std::string_view revision = revision_named(connection.head().headers);
  if (revision.empty()) revision = mcp::kNewestLegacy;
  auto initialize =
      mcp::Message::parse(mcp::initialize_request(1, mcp::initialize_params("{}", revision))).value();
  core::Arrival arrival = legacy_arrival(connection, server, std::move(initialize), 0);
  arrival.session = session->id;
  arrival.sees_status = false;
  arrival.account = session->account();
  auto told = lifetime_.guard(
      [this, id = session->id](std::string answer, int status, const core::HeaderFields& headers) {
        opened_for(id, std::move(answer), status, headers);
      });
  door_.start(std::move(arrival), std::make_unique<OpeningReply>(loop_, std::move(told)));
}

void HttpFront::opened_for(const std::string& id, std::string answer, int status,
                           const core::HeaderFields& headers) {
  Session* session = sessions_.find(id);
  auto parsed = mcp::Message::parse(std::move(answer));
  const bool well = session != nullptr && parsed && parsed->kind() == mcp::MessageKind::result;
  std::vector<ClientConnection*> waiting;
  bool wanted = false;
  for (const auto& [connection, waits] : awaiting_session_) {
    if (waits->session != id) continue;
    waiting.push_back(connections_.at(connection).get());
    wanted = wanted || may_open(*connection, waits->server);
  }
  if (well) {
    session->opening = false;
    wanted = wanted && door_.keeps_sessions(session->upstream) != false;
    if (wanted) {
      core::Arrival arrival;
      arrival.era = mcp::Era::legacy;
      arrival.method = mcp::Method::initialized;
      arrival.upstream = session->upstream;
      arrival.session = id;
      arrival.principal = session->principal;
      arrival.message = mcp::Message::parse(std::string(mcp::kInitialized)).value();
      door_.notified(std::move(arrival));
    } else {
      door_.session_ended(id);
    }
  }
  for (ClientConnection* connection : waiting) {
    auto found = awaiting_session_.find(connection);
    if (found == awaiting_session_.end()) continue;  // it went with another's answer
    std::unique_ptr<AwaitsSession> waited = std::move(found->second);
    awaiting_session_.erase(found);
    go_on(*connection, *waited, well, parsed ? &*parsed : nullptr, status, headers);
  }
}

void HttpFront::go_on(ClientConnection& connection, AwaitsSession& waited, bool well,
                      const mcp::Message* answer, int status, const core::HeaderFields& headers) {
  const std::string_view raw_id = waited.message.raw(Field::id);
  if (well) {
    const bool passes = door_.keeps_sessions(waited.server) == false;
    if (!passes && unnamed_session(connection, waited.server) == nullptr)
      return refuse_eraless(connection, raw_id);
    return post_unnamed(connection, waited.server, std::move(waited.message), waited.bytes);
  }
  if (answer != nullptr && answer->has(Field::id)) {
    return connection.respond(status, kJson, mcp::with_id(*answer, raw_id),
                              told_headers(headers, paths_.resource.get(), connection.head()));
  }
  mcp::GatewayError error{
      mcp::EndReason::upstream_unreachable, "no session could be opened for this request", waited.server, {}};
  connection.respond(200, kJson, mcp::gateway_error(raw_id, error));
}

bool HttpFront::hopped(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const std::string* server = facts(connection).server;
  if (server == nullptr || !passes_unnamed(connection, *server)) return false;
  const bool is_get = head.method == "GET";
  if (is_get && !accepts(head.headers).events) return false;
  // What goes through as bytes no policy can read; a server need not have such a stream.
  if (is_get && gate_ && gate_->reads_all()) return false;
  if (is_get && config::load_of(HeldBytes::total(), config_) >= config::Load::no_streams) {
    ++core::stats().overload[static_cast<size_t>(core::Overload::streams)];
    refuse(connection, {503, 503, "no new streams for now (listen.maxBufferedBytes)", {}, {}});
    return true;
  }
  core::HopRequest request;
  request.method = is_get ? "GET" : "DELETE";
  request.headers = with_revision(connection, forwarded(connection, *server, false));
  if (head.headers.count("Last-Event-ID") == 1)
    request.headers.emplace_back("Last-Event-ID", head.headers.get("Last-Event-ID"));
  ReplyOptions options = reply_options(connection);
  options.takes_json = true;
  options.takes_events = false;  // no comments of our own in another's stream
  auto pass = std::make_unique<PlainPass>(
      loop_, std::make_unique<HttpReply>(loop_, connection, std::move(options), nullptr),
      [this](PlainPass& over) {
        auto found = std::find_if(plain_passes_.begin(), plain_passes_.end(),
                                  [&](const auto& one) { return one.get() == &over; });
        if (found == plain_passes_.end()) return;
        loop_.retire(std::move(*found));
        plain_passes_.erase(found);
      });
  if (!pass->begin(door_, *server, std::move(request))) {
    pass->give_up();
    return false;
  }
  plain_passes_.push_back(std::move(pass));
  return true;
}

void HttpFront::left(ClientConnection& connection) {
  awaiting_session_.erase(&connection);
  unnamed_.connection_gone(&connection);
}

// ---- beside requests ----

void HttpFront::refuse_session(ClientConnection& connection, std::string_view raw_id) {
  refuse(connection, {404, 404, "Session not found", {}, {}}, raw_id);
}

void HttpFront::get(ClientConnection& connection) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = session_meant(connection);
  if (session == nullptr && hopped(connection)) return;
  if (session == nullptr && !names_session(headers)) {
    return refuse(connection,
                  {405, 405, "GET opens a stream in a legacy session only (Mcp-Session-Id)", {}, "POST"});
  }
  if (session == nullptr) return refuse_session(connection);
  if (!accepts(headers).events) {
    return refuse(connection, {406, 406, "Accept must allow text/event-stream", {}, {}});
  }
  sessions_.touch(*session);
  if (config::load_of(HeldBytes::total(), config_) >= config::Load::no_streams) {
    ++core::stats().overload[static_cast<size_t>(core::Overload::streams)];
    return refuse(connection, {503, 503, "no new streams for now (listen.maxBufferedBytes)", {}, {}});
  }
  std::string shown(headers.get("Mcp-Session-Id"));
  uint64_t after = 0;
  bool resumes = headers.count("Last-Event-ID") > 0;
  SessionStream* stream = resumes ? session->resumable(headers.get("Last-Event-ID"), after) : nullptr;
  // Another replica may have given out that event, and be no more: the client's stream goes on as a new one.
  if (!resumes || (stream == nullptr && session->shared() != nullptr)) {
    session->open_get_stream(
        [&](SessionStream& opened) { return transport(connection, *session, opened, shown); });
    return watch_stream(connection, *session);
  }
  if (stream == nullptr) {
    return refuse(connection,
                  {405, 405, "this stream has ended, or its events are no longer kept", {}, "POST, DELETE"});
  }
  // It has no event before the ones that are missing: a priming one would set the client back.
  auto renewed = transport(connection, *session, *stream, shown, false);
  stream->resume(after, std::move(renewed));
  session->flush_waiting(*stream);
  watch_stream(connection, *session);
}

void HttpFront::remove_session(ClientConnection& connection) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = session_meant(connection);
  if (session == nullptr && hopped(connection)) return;
  if (session == nullptr && !names_session(headers))
    return refuse(connection, {405, 405, "DELETE ends a legacy session (Mcp-Session-Id)", {}, "POST"});
  if (session == nullptr) return refuse_session(connection);
  std::string id = session->id;
  session->deleted = true;
  connection.respond(200, {}, {});
  door_.session_ended(id);
}

}  // namespace lineward::client

#include "client/http_front.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "client/affinity.h"
#include "config/load_levels.h"
#include "core/stats.h"
#include "mcp/errors.h"
#include "mcp/methods.h"
#include "mcp/rewrite.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr std::string_view kJson = "application/json";

}  // namespace

HttpFront::HttpFront(net::Loop& loop, const config::Listen& config, PathTable paths, core::ExchangeDoor& door,
                     std::shared_ptr<ConnectionCaps> caps)
    : loop_(loop),
      config_(config),
      paths_(std::move(paths)),
      door_(door),
      sessions_(loop, config, [this](const std::string& id) { door_.session_ended(id); }),
      unnamed_(loop, sessions_, [this](const std::string& id) { door_.session_ended(id); }),
      caps_(std::move(caps)),
      last_chance_(loop) {}

HttpFront::~HttpFront() {
  lifetime_.end();
  close_all();
}

void HttpFront::on_closed(ClientConnection& connection) {
  awaiting_document_.erase(&connection);
  at_gate_.erase(&connection);
  unsettled_.erase(&connection);
  left(connection);
  auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  caps_->leave(connection.peer());
  loop_.retire(std::move(found->second));
  connections_.erase(found);
}

void HttpFront::close_all() {
  if (listener_) listener_->close();
  std::vector<ClientConnection*> all;
  for (auto& entry : connections_)
    all.push_back(entry.second.get());
  for (auto* connection : all)
    connection->cut(mcp::EndReason::cancelled_client);
}

bool HttpFront::wants_body(const http::RequestHead& head) const {
  std::string path(head.path);
  bool known = paths_.servers.count(path) > 0 || paths_.sse_posts.count(path) > 0 ||
               (paths_.leaving.count(path) > 0 && head.headers.count("Mcp-Session-Id") > 0);
  return head.method == "POST" && known &&
         !check_addresses(head.headers, config_, listener_ && listener_->is_loopback());
}

size_t HttpFront::backlog() const {
  size_t sum = 0;
  for (const auto& entry : connections_)
    sum += entry.second->backlog();
  return sum;
}

std::string HttpFront::principal_of(const ClientConnection& connection) const {
  return connection.caller() ? connection.caller()->principal : std::string(core::kAnonymous);
}

void HttpFront::refuse(ClientConnection& connection, const Refusal& refusal, std::string_view raw_id) {
  ++core::stats().refused;
  std::vector<http::OutHeader> headers;
  bool given = std::any_of(refusal.headers.begin(), refusal.headers.end(),
                           [](const auto& header) { return header.first == "Retry-After"; });
  if (refusal.status == 503 && !given) headers.push_back({"Retry-After", "1"});
  if (!refusal.allow.empty()) headers.push_back({"Allow", refusal.allow});
  for (const auto& [name, value] : refusal.headers)
    headers.push_back({name, value});
  log::write(log::Level::info, "request.refused",
             {{"reason", mcp::name(refusal.reason)},
              {"status", refusal.status},
              {"code", refusal.code},
              {"why", refusal.text},
              {"remote", connection.peer()}});
  std::string body =
      refusal.body.empty() ? mcp::error_message(raw_id, refusal.code, refusal.text) : refusal.body;
  if (!refusal.told) note_refused(connection, refusal.status, refusal.reason, refusal.text);
  connection.respond(refusal.status, kJson, body, std::move(headers));
}

void HttpFront::dispatch(ClientConnection& connection, std::string body) {
  if (!replicas_ || !passed_on(connection, body)) serve(connection, std::move(body));
}

void HttpFront::serve(ClientConnection& connection, std::string body) {
  const http::RequestHead& head = connection.head();
  const std::string* server = facts(connection).server;
  if (server == nullptr) {
    if (sse_request(connection, body)) return;
    if (paths_.resource && documents_ != nullptr &&
        head.path.substr(0, kResourceMetadata.size()) == kResourceMetadata)
      return resource_metadata(connection);
    if (leaving_request(connection, body)) return;
    return nothing_here(connection);
  }
  if (head.method == "POST") return post(connection, *server, std::move(body));
  if (head.method == "GET") return get(connection);
  if (head.method == "DELETE") return remove_session(connection);
  refuse(connection, {405,
                      405,
                      "this endpoint takes POST, and GET and DELETE in a legacy session",
                      {},
                      "POST, GET, DELETE"});
}

void HttpFront::post(ClientConnection& connection, const std::string& server, std::string body) {
  if (!connection.facts().fit_to_post)
    return refuse(connection, *check_post_headers(connection.head().headers));
  uint64_t bytes = body.size();
  if (bytes > most_bytes(server)) return refuse_size(connection, server);
  size_t first = body.find_first_not_of(" \t\r\n");
  bool array = first != std::string::npos && body[first] == '[';
  if (array && connection.head().headers.count("Mcp-Session-Id") > 0)
    return post_batch(connection, server, body);
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(config_.max_depth));
  if (!parsed) {
    const mcp::MessageFault& fault = parsed.error();
    int code = fault.kind == mcp::MessageFault::Kind::not_json ? mcp::kParseError : mcp::kInvalidRequest;
    return refuse(connection, {400, code, fault.text, {}, {}}, fault.raw_id);
  }
  switch (parsed->kind()) {
    case mcp::MessageKind::request: return post_request(connection, server, std::move(*parsed), bytes);
    case mcp::MessageKind::notification: return post_notification(connection, server, std::move(*parsed));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return post_answer(connection, std::move(*parsed));
  }
}

void HttpFront::post_request(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                             uint64_t bytes) {
  const http::HeaderList& headers = connection.head().headers;
  const std::string_view raw_id = message.raw(Field::id);
  auto era = era_of(message, headers);
  if (!era) return post_unnamed(connection, server, std::move(message), bytes);
  core::Arrival arrival;
  arrival.method = mcp::method_of(message.method());
  arrival.era = *era;
  arrival.upstream = server;
  arrival.principal = principal_of(connection);
  arrival.peer = connection.peer();
  arrival.wait = connection.facts().wait;
  arrival.bytes_in = bytes;
  arrival.caller = connection.caller();
  arrival.account = connection.account();
  arrival.seen = seen_by_plugins(connection);
  arrival.mirrors_itself = *era == mcp::Era::modern;
  arrival.headers = forwarded(connection, server, arrival.mirrors_itself);
  if (*era == mcp::Era::modern) {
    // Only needed where the client is told what there is.
    std::vector<std::string> supported;
    const mcp::Revision* revision = mcp::find_revision(headers.get("MCP-Protocol-Version"));
    if (revision == nullptr || revision->era != mcp::Era::modern) {
      supported = mcp::served_versions(
          door_.versions(server).value_or(std::vector<std::string>{std::string(mcp::kNewestModern)}), false);
    }
    if (auto refusal = check_modern_request(message, headers, supported))
      return refuse(connection, *refusal, raw_id);
    if (peers_ && state_passed_on(connection, message)) return;
    arrival.revision = std::string(headers.get("MCP-Protocol-Version"));
    if (paths_.keep_state.count(server) > 0)
      return start_with_state(connection, std::move(arrival), std::move(message));
  } else if (arrival.method == mcp::Method::initialize) {
    if (!message.is_object(Field::params) || !message.is_string(Field::params_protocol_version)) {
      return refuse(connection, {400, mcp::kInvalidParams, "initialize needs params.protocolVersion", {}, {}},
                    raw_id);
    }
    if (door_.keeps_sessions(server) == false) {
      arrival.headers = with_revision(connection, std::move(arrival.headers));
    } else {
      Session* session = open_session(connection, server, raw_id);
      if (session == nullptr) return;
      arrival.session = session->id;
      arrival.account = session->account();
    }
  } else {
    Session* session = session_of(connection, raw_id);
    if (session == nullptr) return;
    if (session->upstream != server) {
      return refuse(connection, {404, 404, "Session not found", {}, {}}, raw_id);
    }
    if (auto refusal = check_legacy_version(headers, session->revision))
      return refuse(connection, *refusal, raw_id);
    arrival.message = std::move(message);
    return start_in_session(connection, *session, std::move(arrival));
  }
  arrival.message = std::move(message);
  start(connection, std::move(arrival));
}

// The server keeps state for each client: one that comes without a name for it is given one.
void HttpFront::start_with_state(ClientConnection& connection, core::Arrival&& arrival,
                                 mcp::Message message) {
  auto name = affinity_of(connection.head().headers);
  if (!name) return refuse(connection, name.error(), message.raw(Field::id));
  std::vector<http::OutHeader> headers;
  arrival.affinity = state_name(*name);
  if (arrival.affinity != *name) headers = affinity_headers(arrival.affinity, config_.path);
  arrival.message = std::move(message);
  start(connection, std::move(arrival), std::move(headers));
}

ReplyOptions HttpFront::reply_options(ClientConnection& connection) const {
  const Accepts takes = connection.facts().takes;
  ReplyOptions options;
  options.takes_json = takes.json;
  options.takes_events = takes.events;
  options.minor_version = connection.head().minor_version;
  options.comment_every = config_.keep_alive;
  options.max_backlog_bytes = config_.max_stream_backlog_bytes;
  options.write_timeout = config_.write_timeout;
  options.resource = paths_.resource;
  return options;
}

void HttpFront::start(ClientConnection& connection, core::Arrival&& arrival,
                      std::vector<http::OutHeader> headers) {
  ReplyOptions options = reply_options(connection);
  options.headers = std::move(headers);
  if (arrival.method == mcp::Method::initialize && !arrival.session.empty())
    options.name_session = [this, id = arrival.session] { return name_for_client(id); };
  // The reply may be told that its client is gone only after start() has returned, so the id is known by
  // then; and it lives until the end of the turn at least.
  auto reply = std::make_unique<HttpReply>(loop_, connection, std::move(options), nullptr);
  HttpReply* raw = reply.get();
  raw->on_gone([this, raw](mcp::EndReason why) { door_.client_gone(raw->exchange(), why); });
  core::ExchangeId id = door_.start(std::move(arrival), std::move(reply));
  raw->set_exchange(id);
}

// In a session the answer's stream may outlive this connection.
void HttpFront::start_in_session(ClientConnection& connection, Session& session, core::Arrival&& arrival) {
  arrival.session = session.id;
  arrival.revision = session.revision;
  arrival.account = session.account();
  sessions_.touch(session);
  SessionStream& stream = session.open_post_stream(nullptr);
  stream.on_gone([this, &stream](mcp::EndReason why) { door_.client_gone(stream.exchange(), why); });
  stream.attach(transport(connection, session, stream, {}));
  auto reply = std::make_unique<SessionReply>(sessions_, session.id, stream.number());
  const core::ExchangeId id = door_.start(std::move(arrival), std::move(reply));
  stream.set_exchange(id);  // whatever has happened to it, it lives until the end of the turn
}

// The connection of a session's stream; `session_header` only where the client does not know the session yet.
std::unique_ptr<HttpReply> HttpFront::transport(ClientConnection& connection, Session& session,
                                                SessionStream& stream, std::string session_header,
                                                bool primes) {
  ReplyOptions options = reply_options(connection);
  options.session_header = std::move(session_header);
  if (primes && session.primes()) options.prime_id = stream.prime_id();
  return std::make_unique<HttpReply>(loop_, connection, std::move(options),
                                     [this, id = session.id, number = stream.number()](mcp::EndReason why) {
                                       Session* owner = sessions_.find(id);
                                       if (owner == nullptr) return;
                                       sessions_.touch(*owner);
                                       if (SessionStream* lost = owner->find_stream(number))
                                         lost->transport_lost(why);
                                       stream_lost(*owner);
                                     });
}

void HttpFront::post_notification(ClientConnection& connection, const std::string& server,
                                  mcp::Message message) {
  const http::HeaderList& headers = connection.head().headers;
  core::Arrival arrival;
  arrival.method = mcp::method_of(message.method());
  arrival.upstream = server;
  arrival.principal = principal_of(connection);
  arrival.peer = connection.peer();
  arrival.caller = connection.caller();
  arrival.bytes_in = message.bytes().size();
  auto era = era_of(message, headers);
  const Session* settles = nullptr;
  Session* unnamed = era ? nullptr : unnamed_session(connection, server);
  if (unnamed != nullptr) era = mcp::Era::legacy;
  if (era && *era == mcp::Era::legacy) {
    Session* session = unnamed != nullptr ? unnamed : session_of(connection, {});
    if (session == nullptr) return;
    if (session->shared() != nullptr && arrival.method == mcp::Method::initialized) settles = session;
    if (session->shared() != nullptr && arrival.method == mcp::Method::cancelled && peers_)
      tell_peers(connection, message);
    if (auto refusal = check_legacy_version(headers, session->revision)) return refuse(connection, *refusal);
    sessions_.touch(*session);
    arrival.era = mcp::Era::legacy;
    arrival.session = session->id;
  } else if (!era && passes_unnamed(connection, server)) {
    arrival.era = mcp::Era::legacy;
    arrival.headers = with_revision(connection, forwarded(connection, server, false));
  }
  const bool placed = era || arrival.era == mcp::Era::legacy;
  arrival.message = std::move(message);
  if (auto denial = door_.judge(arrival)) return turn_away(connection, std::move(*denial), true);
  if (arrival.era == mcp::Era::modern && paths_.keep_state.count(server) > 0) {
    if (auto name = affinity_of(headers)) arrival.affinity = std::move(*name);
  }
  // The head is gone with the answer.
  if (arrival.era == mcp::Era::modern && era) arrival.headers = forwarded(connection, server, true);
  if (settles == nullptr) connection.respond(202, {}, {});
  if (!placed) return;  // nothing says where it belongs: accepted, counted, not passed on
  door_.notified(std::move(arrival));
  if (settles != nullptr) answer_when_settled(connection, *settles);
}

void HttpFront::post_answer(ClientConnection& connection, mcp::Message message) {
  const http::HeaderList& headers = connection.head().headers;
  Session* session = session_meant(connection);
  if (session == nullptr && !names_session(headers)) {
    return refuse(connection,
                  {400,
                   mcp::kInvalidRequest,
                   "a client sends requests and notifications; responses belong to a legacy session",
                   {},
                   {}});
  }
  if (session == nullptr) return refuse_session(connection);
  sessions_.touch(*session);
  core::Arrival arrival;
  arrival.era = mcp::Era::legacy;
  arrival.revision = session->revision;
  arrival.upstream = session->upstream;
  arrival.session = session->id;
  arrival.principal = session->principal;
  arrival.peer = connection.peer();
  arrival.caller = connection.caller();
  arrival.bytes_in = message.bytes().size();
  arrival.message = std::move(message);
  if (auto denial = door_.judge(arrival)) return turn_away(connection, std::move(*denial), true);
  connection.respond(202, {}, {});
  door_.answered(arrival.session, std::move(arrival.message));
}

}  // namespace lineward::client

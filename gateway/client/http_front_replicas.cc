// The part of HttpFront that knows of other replicas: the ids of sessions, sessions that another replica
// opened, and requests that only another one can answer (docs/replicas.md).
#include <algorithm>

#include "base/log.h"
#include "base/random_id.h"
#include "client/affinity.h"
#include "client/http_front.h"
#include "core/parked_state.h"
#include "mcp/errors.h"

namespace lineward::client {
namespace {

using Kind = Replicas::Read::Kind;

using mcp::Field;

constexpr size_t kMostNotes = 256;  // at once
// A server that has not taken `notifications/initialized` by then is not waited for.
constexpr std::chrono::milliseconds kSettled{2500};
// The id of a larger request is not looked for: it is needed only when its replica fails.
constexpr size_t kSmall = 64 * 1024;
// So many keep-alives of a stream may be missing.
constexpr int kMissing = 3;

std::string_view literal(std::string_view method) {
  for (std::string_view known : {"POST", "GET", "DELETE"}) {
    if (method == known) return known;
  }
  return {};
}

// Whose session a request at this path may name.
std::string server_at(const PathTable& paths, const std::string& path) {
  auto found = paths.servers.find(path);
  if (found != paths.servers.end()) return found->second;
  found = paths.leaving.find(path);
  return found == paths.leaving.end() ? std::string() : found->second;
}

}  // namespace

void HttpFront::use_replicas(std::shared_ptr<const Replicas> replicas,
                             std::shared_ptr<core::PeerDoor> peers) {
  replicas_ = std::move(replicas);
  peers_ = std::move(peers);
}

// What its client is told as its id.
std::string HttpFront::shown_id(Session& session) {
  if (!replicas_) return session.id;
  if (const core::ScopeState* state = session.shared()) {
    std::string id =
        replicas_->sealed_id({session.id, *state}, session.upstream, session.principal, Replicas::now());
    if (peers_) session.place = replicas_->name();
    if (!id.empty()) return id;
  }
  session.tied = true;
  return replicas_->tied_id(session.id);
}

Session* HttpFront::session_of(ClientConnection& connection, std::string_view raw_id) {
  Session* session = find_session(connection);
  if (session == nullptr) refuse_session(connection, raw_id);
  return session;
}

Session* HttpFront::find_session(const ClientConnection& connection) {
  Session* session = find_named(connection);
  if (session != nullptr) unnamed_.named(*session);
  return session;
}

Session* HttpFront::find_named(const ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const std::string path(head.path);
  const bool over_sse = paths_.sse_posts.count(path) > 0;
  if (!over_sse && head.headers.count("Mcp-Session-Id") != 1) return nullptr;
  std::string_view shown = over_sse ? session_in_query(head.target) : head.headers.get("Mcp-Session-Id");
  std::string principal = principal_of(connection);
  if (!replicas_) return sessions_.find(std::string(shown), principal);
  std::string server = server_at(paths_, path);
  Replicas::Read read = replicas_->read(shown, server, principal, Replicas::now());
  if (read.kind == Kind::none || read.kind == Kind::elsewhere) return nullptr;
  Session* known = sessions_.find(read.session.id, principal);
  if (known != nullptr || read.kind == Kind::here) return known;
  return adopt(read, principal, server, connection.account());
}

// Opened by another replica, or by this one before it forgot.
Session* HttpFront::adopt(const Replicas::Read& read, const std::string& principal, const std::string& server,
                          const AccountPtr& caller) {
  if (read.session.id.empty() || sessions_.find(read.session.id) != nullptr) return nullptr;
  Session* session = sessions_.create(read.session.id, principal, server, caller);
  if (session == nullptr) return nullptr;
  if (peers_) session->place = replicas_->name();
  if (door_.adopt_session(session->id, read.session.state)) return session;
  sessions_.remove(read.session.id);
  return nullptr;
}

// The server's own stream follows the client's.
void HttpFront::watch_stream(ClientConnection& connection, Session& session) {
  if (session.shared() == nullptr || !session.has_stream()) return;
  door_.session_stream(session.id, true, forwarded(connection, session.upstream, false));
}

void HttpFront::stream_lost(Session& session) {
  if (session.shared() != nullptr && !session.has_stream()) door_.session_stream(session.id, false, {});
}

// Once is enough: two replicas that take each other for a third would go on for ever.
bool HttpFront::was_passed(const ClientConnection& connection, std::string_view body) const {
  const http::RequestHead& head = connection.head();
  return head.headers.count(kPassedHeader) == 1 &&
         replicas_->is_marked(head.headers.get(kPassedHeader), head.method, head.target, body,
                              Replicas::now());
}

core::PeerRequest HttpFront::peer_request(const ClientConnection& connection, std::string body) const {
  const http::RequestHead& head = connection.head();
  core::PeerRequest request;
  request.method = literal(head.method);
  request.target = std::string(head.target);
  request.host = std::string(head.headers.get("Host"));
  request.headers = headers_for_peer(head.headers);
  request.headers.push_back(
      {std::string(kPassedHeader), replicas_->mark(head.method, head.target, body, Replicas::now())});
  request.body = std::move(body);
  return request;
}

bool HttpFront::passed_on(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  const bool passed = was_passed(connection, body);
  if (passed) core::stats().count(core::Passed::in);
  if (!peers_ || passed || literal(head.method).empty()) return false;
  std::string_view shown = head.headers.count("Mcp-Session-Id") == 1 ? head.headers.get("Mcp-Session-Id")
                                                                     : session_in_query(head.target);
  const bool tied = Replicas::is_tied(shown);
  std::string peer = tied                    ? holder_of(shown)
                     : head.method == "GET"  ? holder_of_stream(connection, shown)
                     : head.method == "POST" ? holder_of_state(connection)
                                             : std::string();
  if (peer.empty() || !peers_->knows(peer)) return false;
  PeerPassPlan plan;
  if (!tied) {
    plan.serve_here = [this, asker = &connection, copy = body]() mutable { serve(*asker, std::move(copy)); };
  }
  pass(connection, peer, std::move(body), std::move(plan));
  return true;
}

// The other replica that this name is tied to; empty: none.
std::string HttpFront::holder_of(std::string_view tied) const {
  Replicas::Read read = replicas_->read(tied, {}, {}, Replicas::now());
  return read.kind == Kind::elsewhere ? read.replica : std::string();
}

// A stream that a client of a shared session wants to resume is where it was: it is asked for there while
// that replica lives, and begins anew here when it does not.
std::string HttpFront::holder_of_stream(const ClientConnection& connection, std::string_view shown) const {
  const http::RequestHead& head = connection.head();
  if (head.headers.count("Last-Event-ID") != 1) return {};
  std::string_view place = Session::place_of(head.headers.get("Last-Event-ID"));
  if (place.empty() || place == replicas_->name()) return {};
  std::string server = server_at(paths_, std::string(head.path));
  Replicas::Read read = replicas_->read(shown, server, principal_of(connection), Replicas::now());
  return read.kind == Kind::sealed ? std::string(place) : std::string();
}

// What a client without a session calls its state says where that is, when the name is one that we gave.
std::string HttpFront::holder_of_state(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  auto route = paths_.servers.find(std::string(head.path));
  if (route == paths_.servers.end() || paths_.keep_state.count(route->second) == 0) return {};
  if (!mcp::looks_modern(head.headers.get("MCP-Protocol-Version"))) return {};
  auto name = affinity_of(head.headers);
  return name && Replicas::is_tied(*name) ? holder_of(*name) : std::string();
}

// The name that a client's state goes by from here on: its own, unless it has none or that replica is gone
// with the state.
std::string HttpFront::state_name(const std::string& shown) const {
  if (!peers_) return shown.empty() ? random_id() : shown;
  const bool lost = Replicas::is_tied(shown) && !holder_of(shown).empty();
  return shown.empty() || lost ? replicas_->tied_id(random_id()) : shown;
}

bool HttpFront::state_passed_on(ClientConnection& connection, const mcp::Message& message) {
  if (!message.is_string(Field::params_request_state)) return false;
  std::string made_by = core::parked_by(message.text(Field::params_request_state));
  if (made_by.empty() || made_by == replica_tag(replicas_->name())) return false;
  std::string peer = peers_->tagged(made_by);
  if (peer.empty() || was_passed(connection, message.bytes())) return false;
  mcp::GatewayError error{mcp::EndReason::invalid_request,
                          "the call that this requestState belongs to is gone with replica '" + peer + "'",
                          std::string(server_of(connection.head())),
                          {}};
  std::string data = R"({"reason":"lost",)" + mcp::gateway_data(error).substr(1);
  PeerPassPlan plan;
  plan.lost = mcp::error_message(message.raw(Field::id), mcp::kInvalidParams, error.text, data);
  pass(connection, peer, message.bytes(), std::move(plan));
  return true;
}

void HttpFront::pass(ClientConnection& connection, const std::string& peer, std::string body,
                     PeerPassPlan plan) {
  const http::RequestHead& head = connection.head();
  plan.peer = peer;
  plan.server = server_of(head);
  plan.is_stream = head.method == "GET" ||
                   mcp::method_of(head.headers.get("Mcp-Method")) == mcp::Method::subscriptions_listen;
  plan.quiet_limit = kMissing * config_.keep_alive;
  if (head.method == "POST" && body.size() <= kSmall) {
    auto parsed = mcp::Message::parse(body, static_cast<int>(config_.max_depth));
    if (parsed && parsed->kind() == mcp::MessageKind::request) plan.raw_id = parsed->raw(Field::id);
  }
  plan.request = peer_request(connection, std::move(body));
  log::write(log::Level::debug, "request.passed", {{"peer", peer}, {"remote", connection.peer()}});
  ReplyOptions options = reply_options(connection);
  options.takes_json = true;
  options.takes_events = false;  // no comments of our own in another's stream
  auto reply = std::make_unique<HttpReply>(loop_, connection, std::move(options), nullptr);
  passes_.push_back(std::make_unique<PeerPass>(loop_, peers_, std::move(plan), std::move(reply),
                                               [this](PeerPass& over) { pass_ended(over); }));
}

void HttpFront::pass_ended(PeerPass& pass) {
  auto found =
      std::find_if(passes_.begin(), passes_.end(), [&](const auto& one) { return one.get() == &pass; });
  if (found == passes_.end()) return;
  loop_.retire(std::move(*found));
  passes_.erase(found);
}

// Only the replica that made the call knows it under its client's id. Those that do not, ignore the cancel.
void HttpFront::tell_peers(const ClientConnection& connection, const mcp::Message& cancel) {
  if (was_passed(connection, cancel.bytes())) return;
  for (const std::string& peer : peers_->names()) {
    if (notes_.size() >= kMostNotes) return;
    notes_.push_back(std::make_unique<PeerNote>(
        loop_, peers_, peer, peer_request(connection, cancel.bytes()), [this](PeerNote& over) {
          auto found =
              std::find_if(notes_.begin(), notes_.end(), [&](const auto& one) { return one.get() == &over; });
          if (found == notes_.end()) return;
          loop_.retire(std::move(*found));
          notes_.erase(found);
        }));
  }
}

// The client's next request may go to another replica, and must not be at the server before this.
void HttpFront::answer_when_settled(ClientConnection& connection, const Session& session) {
  auto answer = [this, asker = &connection] {
    auto waiting = unsettled_.find(asker);
    if (waiting == unsettled_.end()) return;  // it has gone, or was answered
    loop_.retire(std::move(waiting->second));
    unsettled_.erase(waiting);
    auto connected = connections_.find(asker);
    if (connected != connections_.end()) connected->second->respond(202, {}, {});
  };
  auto& limit = unsettled_[&connection];
  limit = std::make_unique<net::Timer>(loop_);
  limit->start(kSettled, answer);
  door_.when_settled(session.id, lifetime_.guard(answer));
}

}  // namespace lineward::client

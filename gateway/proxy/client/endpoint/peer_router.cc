#include "proxy/client/endpoint/peer_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/random_id.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/client/endpoint/affinity.h"
#include "proxy/client/endpoint/exchange_starter.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/session/session.h"
#include "proxy/core/parked_state.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {
namespace {

using mcp::Field;

// Notifications in flight to each peer: a peer that hangs takes nothing from the others.
constexpr size_t kMaxNotes = 64;
constexpr size_t kMaxWord = 8192;  // bytes of a cancel notification; a longer one loses its reason
// The id of a larger request is not extracted: it is needed only when its replica fails.
constexpr size_t kSmall = 64 * 1024;
// The stream counts as broken after this many missing keep-alives.
constexpr int kMissing = 9;

std::string_view literal(std::string_view method) {
  for (std::string_view known : {"POST", "GET", "DELETE"}) {
    if (method == known) return known;
  }
  return {};
}

// Moves `over` out of `all`, to be freed at the end of the turn.
template <class T>
void retire_from(std::vector<std::unique_ptr<T>>& all, T& over, net::Loop& loop) {
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == &over; });
  if (found == all.end()) return;
  loop.retire(std::move(*found));
  all.erase(found);
}

}  // namespace

PeerRouter::PeerRouter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
                       const ReplicaLinks& links, const RefusalWriter& refusals, ServeHere serve_here)
    : loop_(loop),
      config_(config),
      router_(router),
      links_(links),
      refusals_(refusals),
      serve_here_(std::move(serve_here)) {}

bool PeerRouter::is_passed(const http::RequestHead& head, std::string_view body) const {
  return links_.replicas && head.headers.count(kPassedHeader) == 1 &&
         links_.replicas->is_marked(head.headers.get(kPassedHeader), head.method, head.target, body,
                                    Replicas::now());
}

std::string_view PeerRouter::client_of(const http::RequestHead& head) const {
  const http::HeaderList& headers = head.headers;
  if (!links_.replicas || headers.count(kPassedHeader) != 1 || headers.count(kPassedForHeader) != 1)
    return {};
  return links_.replicas->client_of(headers.get(kPassedForHeader), headers.get(kPassedHeader),
                                    Replicas::now());
}

upstream::PeerRequest PeerRouter::head_for_peer(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  upstream::PeerRequest request;
  request.method = literal(head.method);
  request.target = std::string(head.target);
  request.host = std::string(head.headers.get("Host"));
  request.headers = headers_for_peer(head.headers);
  request.client = connection.client();
  return request;
}

void PeerRouter::give(upstream::PeerRequest& request, std::string body) const {
  std::string mark = links_.replicas->mark(request.method, request.target, body, Replicas::now());
  request.headers.push_back(
      {std::string(kPassedForHeader), links_.replicas->client_mark(mark, request.client)});
  request.headers.push_back({std::string(kPassedHeader), std::move(mark)});
  request.body = std::move(body);
}

bool PeerRouter::pass_on(ClientConnection& connection, std::string& body) {
  if (!links_.replicas) return false;
  const http::RequestHead& head = connection.head();
  const bool passed = connection.facts().passed_by_peer;
  if (passed) metrics::stats().count(metrics::Passed::in);
  if (!links_.peers || passed || literal(head.method).empty()) return false;
  std::string_view shown = head.headers.count("Mcp-Session-Id") == 1 ? head.headers.get("Mcp-Session-Id")
                                                                     : session_in_query(head.target);
  const bool tied = Replicas::is_tied(shown);
  std::string peer = tied                    ? holder_of(shown)
                     : head.method == "GET"  ? holder_of_stream(connection, shown)
                     : head.method == "POST" ? holder_of_state(connection)
                                             : std::string();
  if (peer.empty() || !links_.peers->knows(peer)) return false;
  PeerPassPlan plan;
  if (!tied) {
    if (head.method == "POST") plan.body = body;  // other bodies are ignored
    plan.serve_here = [this, asker = &connection](std::string text) { serve_here_(*asker, std::move(text)); };
  }
  pass(connection, peer, std::move(body), std::move(plan));
  return true;
}

// The other replica that this name is tied to; empty: none.
std::string PeerRouter::holder_of(std::string_view tied) const {
  Replicas::Read read = links_.replicas->read(tied, {}, {}, Replicas::now());
  return read.kind == Replicas::Read::Kind::elsewhere ? read.replica : std::string();
}

// The replica with the stream that a client of a shared session resumes. While that replica lives the request
// is forwarded there; otherwise the stream begins anew here.
std::string PeerRouter::holder_of_stream(const ClientConnection& connection, std::string_view shown) const {
  const http::RequestHead& head = connection.head();
  if (head.headers.count("Last-Event-ID") != 1) return {};
  std::string_view place = Session::place_of(head.headers.get("Last-Event-ID"));
  if (place.empty() || place == links_.replicas->name()) return {};
  Replicas::Read read =
      links_.replicas->read(shown, router_.server_of_session(head), connection.principal(), Replicas::now());
  return read.kind == Replicas::Read::Kind::sealed ? std::string(place) : std::string();
}

// The replica with the state of a client without a session, encoded in the state name if Lineward generated
// it.
std::string PeerRouter::holder_of_state(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  std::string_view server = router_.server_of(head);
  if (server.empty() || router_.table().keep_state.count(std::string(server)) == 0) return {};
  if (!mcp::looks_modern(head.headers.get("MCP-Protocol-Version"))) return {};
  auto name = affinity_of(head.headers);
  return name && Replicas::is_tied(*name) ? holder_of(*name) : std::string();
}

// The client's own name is kept, unless it has none or its replica is gone with the state.
std::string PeerRouter::state_name(const std::string& shown) const {
  if (!links_.peers) return shown.empty() ? random_id() : shown;
  const bool lost = Replicas::is_tied(shown) && !holder_of(shown).empty();
  return shown.empty() || lost ? links_.replicas->tied_id(random_id()) : shown;
}

bool PeerRouter::pass_retry(ClientConnection& connection, const mcp::Message& message) {
  if (!links_.peers || !message.is_string(Field::params_request_state)) return false;
  std::string made_by = core::parked_by(message.text(Field::params_request_state));
  if (made_by.empty() || made_by == replica_tag(links_.replicas->name())) return false;
  std::string peer = links_.peers->tagged(made_by);
  if (peer.empty() || connection.facts().passed_by_peer) return false;
  mcp::GatewayError error{
      .reason = mcp::EndReason::invalid_request,
      .text = "the call that this requestState belongs to is gone with replica '" + peer + "'",
      .upstream = std::string(router_.server_of(connection.head())),
  };
  std::string data = R"({"reason":"lost",)" + mcp::gateway_data(error).substr(1);
  PeerPassPlan plan;
  plan.lost_why = error.text;
  plan.lost = mcp::error_message(message.raw(Field::id), mcp::kInvalidParams, error.text, data);
  pass(connection, peer, message.bytes(), std::move(plan));
  return true;
}

void PeerRouter::pass(ClientConnection& connection, const std::string& peer, std::string body,
                      PeerPassPlan plan) {
  const http::RequestHead& head = connection.head();
  if (head.method != "POST") body.clear();  // such a body has no meaning (RFC 9110 9.3.1, 9.3.5)
  plan.peer = peer;
  plan.caller = connection.account();
  plan.server = router_.server_of(head);
  plan.is_stream = head.method == "GET" ||
                   mcp::method_of(head.headers.get("Mcp-Method")) == mcp::Method::subscriptions_listen;
  plan.quiet_limit = kMissing * config_.keep_alive;
  plan.awaits_answer = head.method == "POST";
  std::string method(head.headers.get("Mcp-Method"));
  if (head.method == "POST" && body.size() <= kSmall) {
    auto parsed = mcp::Message::parse(body, static_cast<int>(config_.max_depth));
    if (parsed && parsed->kind() == mcp::MessageKind::request) plan.raw_id = parsed->raw(Field::id);
    if (parsed) method = parsed->method();
  }
  // The peer records the answer it sends; this replica records what it answers in the peer's place.
  plan.unanswered = [this, asker = &connection, method = std::move(method)](UnansweredRequest request) {
    request.method = method;
    refusals_.note_unanswered(*asker, request);
  };
  plan.request = head_for_peer(connection);
  give(plan.request, std::move(body));
  log::write(log::Level::debug, "request.passed", {{"peer", peer}, {"remote", connection.client()}});
  ReplyOptions options = reply_options(connection, config_, router_.table());
  plan.is_kept_alive = options.takes_events && !plan.raw_id.empty();
  auto reply = std::make_unique<PassedReply>(loop_, connection, std::move(options));
  passes_.push_back(std::make_unique<PeerPass>(loop_, links_.peers, std::move(plan), std::move(reply),
                                               [this](PeerPass& pass) { over(pass); }));
}

void PeerRouter::over(PeerPass& pass) {
  retire_from(passes_, pass, loop_);
}

void PeerRouter::over(PeerNote& note) {
  auto notes = notes_to_.find(note.peer());
  if (notes != notes_to_.end()) {
    auto caller = notes->second.callers.find(note.caller().get());
    if (caller != notes->second.callers.end() && --caller->second == 0) notes->second.callers.erase(caller);
    if (--notes->second.count == 0) notes_to_.erase(notes);
  }
  retire_from(notes_, note, loop_);
}

PeerRouter::Word PeerRouter::word(ClientConnection& connection) const {
  if (!links_.peers || connection.facts().passed_by_peer || !names_session(connection.head().headers))
    return std::nullopt;
  AccountPtr caller = connection.account();
  if (caller) caller = Account::caller_of(caller);
  return PeerWord{head_for_peer(connection), std::move(caller)};
}

std::string PeerRouter::of_cancel(const mcp::Message& cancel) {
  if (!cancel.has(Field::params_request_id)) return {};
  const std::string_view id = cancel.raw(Field::params_request_id);
  if (id.size() > mcp::kMaxIdBytes) return {};
  if (cancel.bytes().size() <= kMaxWord) return cancel.bytes();
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})",
                     id);
}

std::string PeerRouter::of_answer(std::string_view raw_id) {
  if (raw_id.empty() || raw_id.size() > kMaxWord) return {};
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", raw_id);
}

// Only the replica that made the call knows it and its questions. The others ignore the notification.
void PeerRouter::tell_others(const Word& word, const std::string& message) {
  if (!word || message.empty() || !links_.peers) return;
  for (const std::string& peer : links_.peers->names()) {
    Notes& notes = notes_to_[peer];
    size_t& of_caller = notes.callers[word->caller.get()];
    // A caller may use its usual share of these places, and no more.
    const bool within = !word->caller || of_caller < Account::share_of(kMaxNotes);
    if (notes.count >= kMaxNotes || !within) {
      if (of_caller == 0) notes.callers.erase(word->caller.get());
      untold(peer);
      continue;
    }
    ++notes.count;
    ++of_caller;
    upstream::PeerRequest request = word->head;
    give(request, message);
    notes_.push_back(std::make_unique<PeerNote>(loop_, links_.peers, peer, word->caller, std::move(request),
                                                [this](PeerNote& note) { over(note); }));
  }
}

// A peer may be unreachable for long: only counts that are powers of two are logged.
void PeerRouter::untold(const std::string& peer) {
  metrics::stats().count(metrics::Passed::out);
  metrics::stats().count(metrics::Passed::failed);
  ++notes_dropped_;
  if ((notes_dropped_ & (notes_dropped_ - 1)) != 0) return;
  log::write(log::Level::warn, "peer.notify_failed",
             {{"peer", peer},
              {"waiting", static_cast<int64_t>(kMaxNotes)},
              {"so_far", static_cast<int64_t>(notes_dropped_)}});
}

void PeerRouter::drain() {
  std::vector<PeerPass*> passes;
  for (auto& pass : passes_)
    passes.push_back(pass.get());
  for (PeerPass* pass : passes)
    pass->drain();  // which may end it
}

}  // namespace lineward::client

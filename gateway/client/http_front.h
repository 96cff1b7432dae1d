// The HTTP side towards clients: the listener, its connections, the legacy sessions, and the way of a request
// from its head to the door of the exchanges. Both eras on one endpoint (BEHAVIOUR 1).
//
// Owned by the worker; outlived by the exchange table it hands requests to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/admission.h"
#include "client/client_connection.h"
#include "client/connection_caps.h"
#include "client/forwarding.h"
#include "client/front.h"
#include "client/moved_connection.h"
#include "client/peer_pass.h"
#include "client/plain_pass.h"
#include "client/replicas.h"
#include "client/resource_names.h"
#include "client/session.h"
#include "client/unnamed_sessions.h"
#include "core/document_source.h"
#include "core/exchange_door.h"
#include "core/stats.h"
#include "net/lifetime.h"
#include "net/listener.h"

namespace lineward::client {

// Path → server name. A slash at the end of a path is none of its own: who puts an address together with one
// means the same.
class ServerPaths : private std::unordered_map<std::string, std::string> {
  using Map = std::unordered_map<std::string, std::string>;

 public:
  using Map::begin;
  using Map::end;
  using Map::operator[];
  const_iterator find(const std::string& path) const {
    auto found = Map::find(path);
    const bool slash = found == end() && path.size() > 1 && path.back() == '/';
    return slash ? Map::find(path.substr(0, path.size() - 1)) : found;
  }
  size_t count(const std::string& path) const { return find(path) == end() ? 0 : 1; }
};

// Which server a path leads to. `servers` lists what there is, for the error of a wrong path.
struct PathTable {
  ServerPaths servers;
  std::unordered_map<std::string, std::string> sse_streams;  // the same for HTTP+SSE, where it is on
  std::unordered_map<std::string, std::string> sse_posts;
  // Of servers that a reload took away and that still have sessions: only answers, notifications, and what
  // ends a session are taken there.
  ServerPaths leaving;
  std::string hint;
  std::unordered_map<std::string, config::ForwardRules> forward;  // by server name
  std::unordered_map<std::string, uint64_t> most_bytes;           // of a request's body, by server name
  std::unordered_map<std::string, std::string> documents;         // for everybody: path → JSON
  std::unordered_set<std::string> keep_state;                     // servers with `isolation: session`
  std::unordered_set<std::string> refuse_missing;                 // servers with `sessions.missing: refuse`
  std::shared_ptr<const ResourceNames> resource;                  // of the plain sidecar's server
  std::string plain;                                              // its name
  std::unordered_map<std::string, size_t> homes;  // by server name: the worker it lives on; 0 where it is not

  // The worker that answers requests for this path; the first one where no server does.
  size_t home(std::string_view path) const;
};

// The fronts of the other workers.
struct Neighbours {
  size_t self = 0;
  std::function<void(size_t worker, MovedConnection connection)> send;
};

// The value of `sessionId` in the query of an HTTP+SSE client's POST; empty: there is none.
std::string_view session_in_query(std::string_view target);

class HttpFront final : public Front, public RequestHandler {
 public:
  // `caps` are shared by the fronts of all workers.
  HttpFront(net::Loop& loop, const config::Listen& config, PathTable paths, core::ExchangeDoor& door,
            std::shared_ptr<ConnectionCaps> caps = std::make_shared<ConnectionCaps>());
  ~HttpFront() override;

  Status<net::ListenFailure> listen() override;
  // The same on the socket that the first worker's front has opened (net::Listener::join).
  Status<net::ListenFailure> listen_with(int socket, std::string address, bool loopback);
  // What was opened last.
  const net::Listener* listener() const { return next_listener_ ? next_listener_.get() : listener_.get(); }
  // Servers live on several workers: a connection goes to where its request's server is.
  void use_neighbours(Neighbours neighbours) { neighbours_ = std::move(neighbours); }
  void adopt(MovedConnection moved);
  std::string address() const override { return listener_->address(); }
  SessionTable& sessions() override { return sessions_; }
  void use_documents(core::DocumentSource* source) override { documents_ = source; }
  void use_gate(std::shared_ptr<core::Gate> gate) override { gate_ = std::move(gate); }

  // The other replicas, and the keys that they share; both null: there are none (http_front_replicas.cc).
  void use_replicas(std::shared_ptr<const Replicas> replicas, std::shared_ptr<core::PeerDoor> peers);

  // A reload. Connections, sessions and what is being answered stay.
  const PathTable& paths() const { return paths_; }
  void use_paths(PathTable paths) {
    paths_ = std::move(paths);
    ++paths_number_;
  }
  // Another address for new connections: opens it, and move() closes the old one. Nothing changes on failure.
  Status<net::ListenFailure> open_next(const std::string& address);
  Status<net::ListenFailure> join_next(int socket, std::string address, bool loopback);
  void move();
  void forget_next() { next_listener_.reset(); }

  // No new connections; each that is open is closed after its answer, idle ones after one more answer or a
  // second.
  void drain() override;
  size_t unanswered() const override;
  size_t connections() const override { return connections_.size(); }
  size_t take_most_connections() override { return std::exchange(most_connections_, connections_.size()); }
  size_t backlog() const override;
  void close_all() override;

 private:
  void on_request(ClientConnection& connection, std::string body) override;
  void on_closed(ClientConnection& connection) override;
  bool on_head(ClientConnection& connection) override;
  bool belongs_elsewhere(ClientConnection& connection) override;
  bool wants_body(const http::RequestHead& head) const override;
  bool draining() const override { return draining_; }
  void on_fault(ClientConnection& connection, const http::RequestFault& fault) override;
  void on_full() override { make_room_later_.schedule(); }

  // Who comes in goes on at dispatch() (http_front_gate.cc).
  bool serve_document(ClientConnection& connection);
  core::GateRequest gate_request(const ClientConnection& connection) const;
  std::string_view server_of(const http::RequestHead& head) const;
  uint64_t most_bytes(std::string_view server) const;
  void refuse_size(ClientConnection& connection, std::string_view server);
  void turn_away(ClientConnection& connection, core::Denial denial, bool told = false);
  void note_refused(const ClientConnection& connection, int status, mcp::EndReason reason,
                    std::string_view why) const;
  void ask_gate(ClientConnection& connection, std::string body);
  void through_gate(ClientConnection& connection, core::GateAnswer answer, std::string body);
  void dispatch(ClientConnection& connection, std::string body);
  void serve(ClientConnection& connection, std::string body);
  core::HeaderFields seen_by_plugins(const ClientConnection& connection) const;
  net::Listener::Accepted accepting();
  void accept(std::unique_ptr<net::ByteStream> stream, std::string peer);
  void turned_away(core::Overload why);
  void make_room();
  void post(ClientConnection& connection, const std::string& server, std::string body);
  void post_request(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                    uint64_t bytes);
  void post_notification(ClientConnection& connection, const std::string& server, mcp::Message message);
  // HTTP+SSE; false when the path is none of its.
  bool sse_request(ClientConnection& connection, std::string& body);
  void open_sse(ClientConnection& connection, const std::string& server);
  void post_sse(ClientConnection& connection, const std::string& server, std::string body);
  void post_batch(ClientConnection& connection, const std::string& server, const std::string& body);
  void start_batch(ClientConnection& connection, Session& session, const core::Arrival& pattern,
                   std::vector<mcp::Message> requests, const std::vector<std::string>& errors);
  void post_answer(ClientConnection& connection, mcp::Message message);
  void get(ClientConnection& connection);
  bool leaving_request(ClientConnection& connection, std::string& body);
  void nothing_here(ClientConnection& connection, std::string_view raw_id = {});
  void remove_session(ClientConnection& connection);
  void resource_metadata(ClientConnection& connection);
  // What follows from its request's head, and is of today's paths.
  HeadFacts& facts(ClientConnection& connection) const {
    HeadFacts& facts = connection.facts();
    if (facts.paths != paths_number_) look_up(connection.head().path, facts);
    return facts;
  }
  void look_up(std::string_view path, HeadFacts& facts) const;
  core::SharedFields forwarded(ClientConnection& connection, const std::string& server, bool mirrored) const;
  void refuse(ClientConnection& connection, const Refusal& refusal, std::string_view raw_id = {});
  void start(ClientConnection& connection, core::Arrival&& arrival,
             std::vector<http::OutHeader> headers = {});
  void start_with_state(ClientConnection& connection, core::Arrival&& arrival, mcp::Message message);
  void start_in_session(ClientConnection& connection, Session& session, core::Arrival&& arrival);
  std::unique_ptr<HttpReply> transport(ClientConnection& connection, Session& session, SessionStream& stream,
                                       std::string session_header, bool primes = true);
  // The session a request names, or null after it was refused.
  Session* session_of(ClientConnection& connection, std::string_view raw_id);
  // Legacy requests that name no session (http_front_sessions.cc).
  Session* open_session(ClientConnection& connection, const std::string& server, std::string_view raw_id);
  Session* unnamed_session(ClientConnection& connection, const std::string& server);
  void post_unnamed(ClientConnection& connection, const std::string& server, mcp::Message&& message,
                    uint64_t bytes);
  core::Arrival legacy_arrival(ClientConnection& connection, const std::string& server,
                               mcp::Message&& message, uint64_t bytes);
  // Requests for which Lineward opens a session: it is being initialised.
  struct AwaitsSession {
    std::string session, server;
    mcp::Message message;
    uint64_t bytes = 0;
    HeldBytes held;
  };
  Session* session_meant(ClientConnection& connection);
  void refuse_session(ClientConnection& connection, std::string_view raw_id = {});
  // Does a legacy message go to the server as it is, which keeps no sessions?
  bool passes_unnamed(const ClientConnection& connection, const std::string& server) const;
  // True: the server, which keeps no sessions, answers this GET or DELETE.
  bool hopped(ClientConnection& connection);
  bool may_open(const ClientConnection& connection, const std::string& server) const;
  void open_for(ClientConnection& connection, const std::string& server, Session* session,
                mcp::Message&& message, uint64_t bytes);
  void opened_for(const std::string& session, std::string answer, int status,
                  const core::HeaderFields& headers);
  void go_on(ClientConnection& connection, AwaitsSession& waited, bool well, const mcp::Message* answer,
             int status, const core::HeaderFields& headers);
  core::SharedFields with_revision(const ClientConnection& connection, core::SharedFields fields) const;
  std::string name_for_client(const std::string& session);
  void refuse_eraless(ClientConnection& connection, std::string_view raw_id);
  void left(ClientConnection& connection);
  // Likewise, without an answer. One that another replica shared is made anew here.
  Session* find_session(const ClientConnection& connection);
  Session* find_named(const ClientConnection& connection);
  Session* adopt(const Replicas::Read& read, const std::string& principal, const std::string& server,
                 const AccountPtr& caller);
  std::string shown_id(Session& session);
  void watch_stream(ClientConnection& connection, Session& session);
  void stream_lost(Session& session);
  // True: another replica answers this request.
  bool passed_on(ClientConnection& connection, std::string& body);
  void pass(ClientConnection& connection, const std::string& peer, std::string body, PeerPassPlan plan);
  std::string holder_of(std::string_view tied) const;
  std::string holder_of_stream(const ClientConnection& connection, std::string_view shown) const;
  std::string holder_of_state(const ClientConnection& connection) const;
  std::string state_name(const std::string& shown) const;
  core::PeerRequest peer_request(const ClientConnection& connection, std::string body) const;
  bool was_passed(const ClientConnection& connection, std::string_view body) const;
  // The retry of a call that is parked elsewhere; true: it was passed there.
  bool state_passed_on(ClientConnection& connection, const mcp::Message& message);
  // A cancel of a call that may be another replica's.
  void tell_peers(const ClientConnection& connection, const mcp::Message& cancel);
  void answer_when_settled(ClientConnection& connection, const Session& session);
  void pass_ended(PeerPass& pass);
  ReplyOptions reply_options(ClientConnection& connection) const;
  std::string principal_of(const ClientConnection& connection) const;

  net::Loop& loop_;
  const config::Listen& config_;
  PathTable paths_;
  uint64_t paths_number_ = 1;  // another with each reload
  core::ExchangeDoor& door_;
  SessionTable sessions_;
  UnnamedSessions unnamed_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<AwaitsSession>> awaiting_session_;
  std::shared_ptr<ConnectionCaps> caps_;
  std::optional<Neighbours> neighbours_;
  std::unique_ptr<net::Listener> listener_;
  std::unique_ptr<net::Listener> next_listener_;
  net::Timer last_chance_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  size_t most_connections_ = 0;
  net::Deferred make_room_later_{loop_, [](void* self) { static_cast<HttpFront*>(self)->make_room(); }, this};
  bool draining_ = false;
  core::DocumentSource* documents_ = nullptr;
  std::unordered_map<const ClientConnection*, uint64_t> awaiting_document_;  // and which of them
  uint64_t next_document_ = 1;
  std::shared_ptr<const Replicas> replicas_;
  std::shared_ptr<core::PeerDoor> peers_;
  std::vector<std::unique_ptr<PeerPass>> passes_;
  std::vector<std::unique_ptr<PeerNote>> notes_;
  std::vector<std::unique_ptr<PlainPass>> plain_passes_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<net::Timer>> unsettled_;
  std::shared_ptr<core::Gate> gate_;
  struct AtGate {
    uint64_t number;
    std::string body;
    std::shared_ptr<core::Gate> gate;  // the one that was asked; a reload brings another
    std::unique_ptr<HeldBytes> held;   // its body
  };
  std::unordered_map<const ClientConnection*, AtGate> at_gate_;
  uint64_t next_at_gate_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

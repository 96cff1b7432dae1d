// Requests that only another replica can answer, and so go there whole (docs/replicas.md): of sessions and
// state tied to it, streams that a client resumes where they were, retries of calls that are parked there.
// And word to all of them of what may concern a call of theirs: a cancel, the answer to a question. Once is
// enough: what was passed here is answered here.
//
// Owned by the HttpFront. Owns what is under way to other replicas; each is freed at the end of the turn in
// which it is over. Without replicas nothing is passed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/endpoint/path_router.h"
#include "client/endpoint/refusal_writer.h"
#include "client/http/client_connection.h"
#include "client/replica/peer_pass.h"
#include "client/replica/replicas.h"
#include "config/config.h"
#include "core/peer_api.h"
#include "mcp/message.h"
#include "net/loop.h"

namespace lineward::client {

class PeerRouter {
 public:
  // Serves a request whose replica cannot be reached and has seen nothing of it.
  using ServeHere = std::function<void(ClientConnection& connection, std::string body)>;

  // `links`: those of today.
  PeerRouter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
             const ReplicaLinks& links, const RefusalWriter& refusals, ServeHere serve_here);
  PeerRouter(const PeerRouter&) = delete;
  PeerRouter& operator=(const PeerRouter&) = delete;

  // Of each request, before anybody is asked about it: did another replica pass it, and for whom? At first by
  // its head alone, while its body is not there; what counts for that request is said with its body.
  void recognise_head(ClientConnection& connection) const;
  void recognise(ClientConnection& connection, std::string_view body) const;
  // True: another replica answers this request, by what its head says; `body` is taken then.
  bool pass_on(ClientConnection& connection, std::string& body);
  // Likewise the retry of a call that is parked elsewhere, by what its message says.
  bool pass_retry(ClientConnection& connection, const mcp::Message& message);
  // Taken from a request of a session while its head is there, to tell the others of it, then or later.
  // Nothing where there are no others, or where it is their word.
  struct PeerWord {
    core::PeerRequest head;
    AccountPtr caller;  // null: one who has the gateway alone
  };
  using Word = std::optional<PeerWord>;
  Word word(ClientConnection& connection) const;
  // What they are told of a cancel, and of an answer: that there is one, what it is concerns its server
  // alone. Short; empty: there is no call of that name, or no question.
  static std::string of_cancel(const mcp::Message& cancel);
  static std::string of_answer(std::string_view raw_id);
  // `message`: one of these, or a batch of them.
  void tell_others(const Word& word, const std::string& message);
  // The name that a client's state goes by from here on, which called it `shown` (empty: nothing).
  std::string state_name(const std::string& shown) const;

  // Requests that wait for another replica's answer.
  size_t passing() const { return passes_.size(); }
  // The gateway stops: what has no end of its own ends now.
  void drain();

 private:
  bool is_marked(const ClientConnection& connection, std::string_view body) const;
  core::PeerRequest head_for_peer(const ClientConnection& connection) const;
  void give(core::PeerRequest& request, std::string body) const;
  void pass(ClientConnection& connection, const std::string& peer, std::string body, PeerPassPlan plan);
  void over(PeerPass& pass);
  void over(PeerNote& note);
  void untold(const std::string& peer);
  std::string holder_of(std::string_view tied) const;
  std::string holder_of_stream(const ClientConnection& connection, std::string_view shown) const;
  std::string holder_of_state(const ClientConnection& connection) const;

  net::Loop& loop_;
  const config::Listen& config_;
  const PathRouter& router_;
  const ReplicaLinks& links_;
  const RefusalWriter& refusals_;
  const ServeHere serve_here_;
  std::vector<std::unique_ptr<PeerPass>> passes_;
  std::vector<std::unique_ptr<PeerNote>> notes_;
  // To one peer, and of those, each caller's.
  struct Notes {
    size_t count = 0;
    std::map<const Account*, size_t> callers;
  };
  std::map<std::string, Notes> notes_to_;  // by peer; of those that have any
  uint64_t notes_dropped_ = 0;
};

}  // namespace lineward::client

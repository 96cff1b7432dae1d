// Forwards requests that only another replica can answer (docs/replicas.md). These are requests of that
// replica's sessions and state, resumed streams, and retries of calls parked there. Also notifies all
// replicas of messages that may concern one of their calls: a cancel, or the answer to a question. A request
// is forwarded once at most: a request that a replica forwarded is answered here.
//
// Owned by the HttpFront. Owns the requests in flight to other replicas; each is freed at the end of the turn
// in which it ends. Without replicas nothing is forwarded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/message.h"
#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/endpoint/refusal_writer.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/replica/peer_pass.h"
#include "proxy/client/replica/replicas.h"
#include "proxy/upstream/http_client/peer_link.h"

namespace lineward::client {

class PeerRouter {
 public:
  // Serves a request here: its replica cannot be reached and has received nothing of it.
  using ServeHere = std::function<void(ClientConnection& connection, std::string body)>;

  // `links`: the current ones.
  PeerRouter(net::Loop& loop, const config::Listen& config, const PathRouter& router,
             const ReplicaLinks& links, const RefusalWriter& refusals, ServeHere serve_here);
  PeerRouter(const PeerRouter&) = delete;
  PeerRouter& operator=(const PeerRouter&) = delete;

  // The client for which another replica forwarded a request; provisional: by the head alone; empty: none.
  // Authentication is charged to the client's limits, not to those of the forwarding replica.
  std::string_view client_of(const http::RequestHead& head) const;
  // Did another replica forward this very request? Prevents a loop of two replicas that each forward to the
  // other.
  bool is_passed(const http::RequestHead& head, std::string_view body) const;
  // True: another replica answers this request, by its head; `body` is consumed then.
  bool pass_on(ClientConnection& connection, std::string& body);
  // The same for the retry of a call that is parked elsewhere, by its message.
  bool pass_retry(ClientConnection& connection, const mcp::Message& message);
  // Saved from a session's request while its head is available, to notify the other replicas now or later.
  // Empty without replicas, or where the request is itself such a notification.
  struct PeerWord {
    upstream::PeerRequest head;
    AccountPtr caller;  // null: the only caller of the gateway
  };
  using Word = std::optional<PeerWord>;
  Word word(ClientConnection& connection) const;
  // The notification of a cancel or of an answer, without its content, which concerns its server only. Short;
  // empty: the message names no call or question.
  static std::string of_cancel(const mcp::Message& cancel);
  static std::string of_answer(std::string_view raw_id);
  // `message`: one of these, or a batch of them.
  void tell_others(const Word& word, const std::string& message);
  // The state name, from here on, of a client that sent `shown` (empty: none).
  std::string state_name(const std::string& shown) const;

  // Requests that wait for another replica's answer.
  size_t passing() const { return passes_.size(); }
  // The gateway stops: streams without an end of their own end now.
  void drain();

 private:
  upstream::PeerRequest head_for_peer(const ClientConnection& connection) const;
  void give(upstream::PeerRequest& request, std::string body) const;
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
  // Notifications in flight to one peer, in total and by caller.
  struct Notes {
    size_t count = 0;
    std::map<const Account*, size_t> callers;
  };
  std::map<std::string, Notes> notes_to_;  // by peer; only peers with notifications in flight
  uint64_t notes_dropped_ = 0;
};

}  // namespace lineward::client

// A client request that another replica answers: it is forwarded whole, and the response is passed to the
// client as it arrives, event streams too. When the client disconnects, the forwarded request is closed.
//
// Owned by the PeerRouter, which retires it at the end of the turn in which it ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/client/http/refusal.h"
#include "proxy/client/replica/passed_events.h"
#include "proxy/client/replica/passed_reply.h"
#include "proxy/upstream/http_client/peer_link.h"

namespace lineward::client {

struct PeerPassPlan {
  std::string peer;    // the peer's name
  std::string server;  // for messages
  std::string raw_id;  // of the JSON-RPC request; empty: not a request
  // The answer, status 200, when the peer cannot be reached; empty: 404, session not found. And its text.
  std::string lost, lost_why;
  // Replaces that answer when the peer received nothing and the request can be served here. Called after the
  // end, when the connection is free again. `body` is kept until an answer begins.
  std::function<void(std::string body)> serve_here;
  std::string body;
  // Called for the records when the request ends without an answer while its client is connected.
  std::function<void(UnansweredRequest)> unanswered;
  bool awaits_answer = false;  // a message, not the stream of a session
  bool is_stream = false;      // a GET: it ends when the gateway drains
  bool is_kept_alive = false;  // the answer begins at the latest with a keep-alive
  // The maximum silence, longer than the keep-alive interval. 0: unlimited.
  std::chrono::milliseconds quiet_limit{0};
  AccountPtr caller;  // the body is charged to its account
  upstream::PeerRequest request;
};

class PeerPass final : private upstream::PeerListener {
 public:
  using Over = std::function<void(PeerPass& pass)>;
  // `peers` must know the peer. `over` is called once, never from inside the constructor.
  PeerPass(net::Loop& loop, std::shared_ptr<upstream::PeerLinks> peers, PeerPassPlan plan,
           std::unique_ptr<PassedReply> reply, Over over);
  ~PeerPass();
  PeerPass(const PeerPass&) = delete;
  PeerPass& operator=(const PeerPass&) = delete;

  // The gateway stops: streams without an end of their own end now.
  void drain();

 private:
  void on_peer_head(const http::ResponseInfo& info) override;
  void on_peer_body(std::string_view bytes) override;
  void on_peer_complete() override;
  void on_peer_failed(const std::string& why) override { failed(Sent::perhaps, why); }
  void on_peer_unreached(const std::string& why) override { failed(Sent::nothing, why); }
  enum class Sent : bool { nothing, perhaps };
  void failed(Sent sent, const std::string& why);
  // Records that the client gets that in place of an answer.
  void tell_unanswered(int status, int code, mcp::EndReason reason, std::string_view why);
  // The peer's answer has begun and breaks off.
  void break_off(std::string_view why);
  void count_held();
  enum class Half : bool { first, second };
  void watch_silence(Half half);
  void hold_back();
  void finish();

  net::Loop& loop_;
  std::shared_ptr<upstream::PeerLinks> peers_;
  PeerPassPlan plan_;
  std::unique_ptr<PassedReply> reply_;
  std::unique_ptr<upstream::PeerTransfer> call_;
  Over over_;
  net::Timer silence_;
  int status_ = 0;  // of the peer's head; 0: none yet
  std::string type_;
  std::vector<http::OutHeader> headers_;
  bool whole_ = false;  // the body is short and passed in one piece
  std::string body_;
  std::optional<PassedEvents> events_;  // of a call's answer
  MemoryCharge held_{Held::calls};      // the request, until the peer has answered; then the answer
  bool paused_ = false;
};

// A request with an answer that is ignored. Owned likewise.
class PeerNote final : private upstream::PeerListener {
 public:
  using Over = std::function<void(PeerNote& note)>;
  PeerNote(net::Loop& loop, std::shared_ptr<upstream::PeerLinks> peers, const std::string& peer,
           AccountPtr caller, upstream::PeerRequest request, Over over);

  const std::string& peer() const { return peer_; }
  const AccountPtr& caller() const { return caller_; }

 private:
  void on_peer_head(const http::ResponseInfo&) override {}
  void on_peer_body(std::string_view) override {}
  void on_peer_complete() override { finish(); }
  void on_peer_failed(const std::string&) override { failed(); }
  void on_peer_unreached(const std::string&) override { failed(); }
  void failed();
  void finish();

  std::shared_ptr<upstream::PeerLinks> peers_;
  const std::string peer_;
  const AccountPtr caller_;
  MemoryCharge held_{Held::calls};
  std::unique_ptr<upstream::PeerTransfer> call_;
  Over over_;
  net::Timer limit_;
};

// The headers of a client's request that are forwarded to another replica: all but hop-by-hop headers.
std::vector<http::OutHeader> headers_for_peer(const http::HeaderList& headers);

}  // namespace lineward::client

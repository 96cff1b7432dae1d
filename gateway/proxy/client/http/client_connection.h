// A client's socket: parses one HTTP request at a time for the front, and writes the answers in order.
//
// Owned by the ConnectionTable, which retires it at the end of a loop turn. Limits every phase in which a
// client could be slow on purpose. These are the head from its first byte, the body as a whole, and the pause
// between requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/base/account.h"
#include "foundation/base/memory_charge.h"
#include "foundation/base/peer_address.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "foundation/net/stream.h"
#include "foundation/net/tls_session.h"
#include "protocol/http/request_parser.h"
#include "protocol/http/writer.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/client_certificate.h"
#include "proxy/client/http/connection_reply.h"
#include "proxy/client/http/forwarding.h"
#include "proxy/client/http/moved_connection.h"
#include "proxy/client/http/proxy_signs.h"
#include "proxy/core/connection_end.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"

namespace lineward::upstream {
class KnownEra;
}

namespace lineward::client {

// The account that a client's held bytes are charged to (listen.maxBufferedBytesPerPrincipal): its
// principal's, or without authentication its address's.
inline AccountPtr account_of(const core::CallerPtr& caller, std::string_view peer) {
  const bool known = caller && !core::is_anonymous(caller->principal);
  return Account::of(known ? "principal " + caller->principal : "address " + address_of_peer(peer));
}

// Facts that follow from a request's head alone. Most clients repeat their heads byte by byte
// (http::RequestHead::number), so a connection keeps the facts while the head stays the same.
//
// No fact may depend on what a reload changes, except those keyed by the number of the front's paths.
struct HeadFacts {
  HeadFacts() = default;
  explicit HeadFacts(const http::RequestHead& head)
      : number(head.number),
        fit_to_post(!check_post_headers(head.headers)),
        takes(accepts(head.headers)),
        through_proxy(came_through_proxy(head.headers)),
        wait(preferred_wait(head.headers)) {}

  uint64_t number = 0;       // of the head
  bool fit_to_post = false;  // check_post_headers() accepts it
  Accepts takes;
  bool through_proxy = false;  // the connection does not identify the caller
  std::optional<std::chrono::milliseconds> wait;

  // Set by HttpFront: another replica forwarded this request, so the connection is not a client's. Set for
  // each request separately: the mark never repeats in two heads.
  bool passed_by_peer = false;

  // Set by PathRouter.
  uint64_t paths = 0;                   // the number of the paths they are of; 0: none yet
  const std::string* server = nullptr;  // at this path; null: not an MCP endpoint
  // For several workers: the one that answers. Any of them if `by_era` is set, and these servers are modern.
  std::optional<size_t> worker;
  const std::vector<std::shared_ptr<const upstream::KnownEra>>* by_era = nullptr;
  struct Forwarded {
    Mirrored mirrored = Mirrored::no;
    core::SharedFields fields;
    core::CallerPtr caller = {};  // the caller that they were made for
  };
  std::optional<Forwarded> forwarded;  // headers forwarded to `server`, as computed last
};

// The next step of a request after its head.
enum class HeadVerdict : uint8_t {
  read,       // its body is read, then on_request() follows
  invited,    // the same, and a client that waits for `100 Continue` gets it
  answered,   // the connection ends with that answer
  elsewhere,  // it belongs to another worker
};

// The front of all connections.
class RequestHandler {
 public:
  // A head, before its body is read. To serve the request here, the handler calls begin_head() first. If it
  // belongs elsewhere, the connection moved there, or asks again when its pending output is written.
  virtual HeadVerdict on_head(ClientConnection& connection) = 0;
  // A complete request. The handler answers through respond() or makes an HttpReply, now or later.
  virtual void on_request(ClientConnection& connection, std::string body) = 0;
  // The client speaks HTTP/2: `first` is what came of it. The handler takes the stream (take_stream()).
  virtual void on_http2(ClientConnection& connection, std::string_view first) = 0;
  // The connection is closed; free it at the end of the turn.
  virtual void on_client_left(ClientConnection& connection) = 0;
  virtual bool draining() const = 0;
  // The request cannot be parsed; the connection answers it by itself.
  virtual void on_fault(ClientConnection&, const Error&) {}
  // So many bytes are held that requests are refused: the handler must free some at the end of the turn.
  virtual void on_full() = 0;
  // The same at once, before a request is judged. A server that is still sending may fill the budget for many
  // turns. The request must not be refused because of clients that do not read.
  virtual void on_request_while_full() {}

 protected:
  ~RequestHandler() = default;
};

class ClientConnection final : private net::StreamCallbacks {
 public:
  ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                   std::unique_ptr<net::Stream> stream, std::string peer);
  // A connection from another worker: continues where it stopped there.
  ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                   std::unique_ptr<net::Stream> stream, MovedConnection moved);
  ~ClientConnection();
  // Another worker sent it here for this request, so it stays: workers that missed a reload may disagree.
  bool has_moved() const { return has_moved_; }
  // Called from on_head(): the state for the other worker; this object is finished then, and must
  // be retired. Empty while it cannot move.
  std::optional<MovedConnection> move_away();
  // Called from on_http2(): the client's connection; this object is finished then, and must be retired.
  std::unique_ptr<net::Stream> take_stream();

  // The other end, or the client that its PROXY header told.
  const std::string& peer() const { return peer_; }
  // The origin of the current request: the peer, unless that is a replica that forwards the request, or a
  // trusted proxy with headers that tell the client's address.
  const std::string& client() const { return client_.empty() ? peer_ : client_; }
  void use_client(std::string_view address);  // empty: the peer
  // From RequestHandler::on_head(): the request is served here, for that client (as use_client()), and has no
  // caller yet.
  void begin_head(std::string_view client);
  // The caller of the current request; null: not authenticated.
  const core::CallerPtr& caller() const { return caller_; }
  std::string principal() const {
    return caller_ ? caller_->principal : limits_.realm + std::string(core::kAnonymous);
  }
  // The further listener that it came to; empty: `listen`.
  const std::string& listener() const { return limits_.name; }
  void use_caller(core::CallerPtr caller);
  // The account that its held bytes are charged to.
  const AccountPtr& account() const { return account_; }
  const http::RequestHead& head() const { return parser_.head(); }  // of the current request
  HeadFacts& facts() {                                              // of this head
    if (facts_.number != head().number) facts_ = HeadFacts(head());
    return facts_;
  }
  // Tracks whether several callers share the connection.
  Sharing& sharing() { return sharing_; }
  // The client speaks TLS.
  bool is_secure() const { return is_secure_; }
  // The end of the whole connection, for its sessions.
  const core::ConnectionEndPtr& end() const { return end_; }
  // Before its first request: a stream of HTTP/2 has that of its connection.
  void share_end(core::ConnectionEndPtr end) { end_ = std::move(end); }
  // A stream of HTTP/2: its client has others, on the same connection.
  bool is_stream() const { return is_stream_; }
  // The certificate that the client showed in the handshake; null: none.
  ClientCertificate* certificate() const { return certificate_.get(); }
  // There is no proxy in between (proxy/client/http/proxy_signs.h).
  bool is_direct() const {
    return stream_ && !sharing_.is_by_proxy() && comes_directly(peer_, head(), local_port());
  }
  bool busy() const { return busy_; }
  // No request is in progress, and another one may come.
  bool may_ask() const { return stream_ && !busy_ && !lingering_; }
  // The time it has waited for a request, if it is idle.
  std::optional<std::chrono::milliseconds> idle_for() const;
  bool may_keep_alive() const;

  // Answers the current request in one piece.
  void respond(int status, std::string_view content_type, const std::string& body,
               std::vector<http::OutHeader> headers = {});
  void close_when_idle();
  // Closes the connection at once, and notifies its reply. Must not be called from within a method of the
  // reply.
  void cut(mcp::EndReason why);

  // For ConnectionReply only.
  void attach(ConnectionReply* reply) { reply_ = reply; }
  void write(std::string bytes);
  // Adds the headers that every answer to the current request carries (proxy/client/http/cors.h).
  void add_headers(std::vector<http::OutHeader>& to) const;
  size_t backlog() const { return stream_ ? stream_->backlog() : 0; }
  void flush_now() {
    if (stream_) stream_->flush_now();
  }
  // The client's machine is gone without closing the connection (foundation/net/byte_stream.h).
  bool client_is_silent(std::chrono::milliseconds quiet) { return stream_ && stream_->peer_is_silent(quiet); }
  void reply_finished(bool keep_alive, int status);
  void reply_dropped();

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  void on_secured() override;
  void use_certificate();
  void note_tls_failure(const std::string& why);
  bool is_http2(std::string_view bytes);
  void pump();
  bool had_its_turn();
  void begin();
  void arm();
  void rest();
  void refuse(const Error& fault);
  void note_held();
  void use_account(AccountPtr account);
  const AccountPtr& account_now();
  void linger();
  void watch_writes();
  void note_client_end();
  void close();
  uint16_t local_port() const { return passed_port_ != 0 ? passed_port_ : stream_->local_port(); }

  net::Loop& loop_;
  const config::Listen& limits_;
  RequestHandler& handler_;
  std::unique_ptr<net::Stream> stream_;
  std::string peer_;
  std::string client_;  // empty: the peer
  core::CallerPtr caller_;
  AccountPtr account_;
  // Kept from request to request, since a look-up costs more: the account of the address, and that of the
  // last authenticated caller.
  AccountPtr address_account_, caller_account_;
  core::CallerPtr last_caller_;
  http::RequestParser parser_;
  std::unique_ptr<ClientCertificate> certificate_;
  HeadFacts facts_;  // of the last head that was looked up
  Sharing sharing_;
  core::ConnectionEndPtr end_ = std::make_shared<core::ConnectionEnd>();
  net::Timer timer_;
  http::RequestParser::Phase timed_ = http::RequestParser::Phase::complete;  // the phase the timer runs for
  ConnectionReply* reply_ = nullptr;
  std::chrono::milliseconds request_at_{0};  // when the request being answered was complete
  std::chrono::milliseconds idle_at_{0};     // when it began to wait for a request
  bool busy_ = false;                        // a request is being answered
  bool unread_ = false;                      // the body of the current request is not read yet
  bool lingering_ = false;                   // the last answer is being sent; further input is discarded
  bool ended_here_ = false;                  // Lineward ends it, against its client's wish
  MemoryCharge held_{Held::bodies};          // its requests' bodies, until they are handed on
  size_t last_backlog_ = 0;                  // for the timer that watches a slow reader
  uint64_t begun_in_ = 0;                    // the loop turn that begun_ counts in
  size_t begun_ = 0;
  bool waits_for_turn_ = false;
  bool has_head_ = false;   // of a request that has not begun: another worker may own it
  bool has_moved_ = false;  // for that request
  bool is_stream_ = false, is_secure_ = false;
  uint16_t passed_port_ = 0;  // the local port of a stream that another worker passed here; 0: it passed none
  // Bytes that came, if they are the first ones of HTTP/2; kOtherBytes: they are not.
  static constexpr uint8_t kOtherBytes = 255;
  uint8_t preface_ = 0;
  net::Deferred pump_later_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

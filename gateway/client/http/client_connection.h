// One client's socket: bytes in, one HTTP request at a time out to the front, answers back in order.
//
// Owned by the ConnectionTable, which retires it at the end of a loop turn. Times every phase in which a
// client could be slow on purpose: the head from its first byte, the body as a whole, the pause between
// requests.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/held_bytes.h"
#include "client/http/caller_account.h"
#include "client/http/connection_reply.h"
#include "client/http/head_facts.h"
#include "client/http/moved_connection.h"
#include "client/http/proxy_signs.h"
#include "config/config.h"
#include "core/gate.h"
#include "http/request_parser.h"
#include "http/writer.h"
#include "net/byte_stream.h"
#include "net/lifetime.h"

namespace lineward::client {

// The front of all connections.
class RequestHandler {
 public:
  // A complete request. The handler answers through respond() or makes an HttpReply, now or later.
  virtual void on_request(ClientConnection& connection, std::string body) = 0;
  // The connection is closed; free it at the end of the turn.
  virtual void on_closed(ClientConnection& connection) = 0;
  // A head whose body was not read yet. True: it was answered, and the connection ends with that.
  virtual bool on_head(ClientConnection& connection) = 0;
  // Whose the request is whose head is there. True: another worker's. The connection went to it, or asks
  // again when what it has to write is out.
  virtual bool belongs_elsewhere(ClientConnection& connection) = 0;
  // May the body of this request be asked for (Expect: 100-continue)?
  virtual bool wants_body(const http::RequestHead& head) const = 0;
  virtual bool draining() const = 0;
  // What came is no request that can be read; the connection answers it by itself.
  virtual void on_fault(ClientConnection&, const http::RequestFault&) {}
  // So much is held that requests are refused: somebody must make room, at the end of the turn.
  virtual void on_full() = 0;
  // The same before a request is judged, and at once: what a server is still saying may fill the budget for
  // many turns, and the request must not pay for clients who take nothing.
  virtual void on_request_while_full() {}

 protected:
  ~RequestHandler() = default;
};

class ClientConnection final : private net::StreamOwner {
 public:
  ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                   std::unique_ptr<net::ByteStream> stream, std::string peer);
  // One that another worker had: goes on where it stopped there.
  ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                   std::unique_ptr<net::ByteStream> stream, MovedConnection moved);
  ~ClientConnection();
  // From belongs_elsewhere(): what goes to the other worker; this is done then, and must be retired. Nothing
  // while that cannot be.
  std::optional<MovedConnection> move_away();

  const std::string& peer() const { return peer_; }
  // From where who makes the request being answered came: the peer, unless that is a replica which passes it
  // for somebody else.
  const std::string& client() const { return client_.empty() ? peer_ : client_; }
  void use_client(std::string_view address);  // empty: the peer
  // Who makes the request being answered; null: nobody asked.
  const core::CallerPtr& caller() const { return caller_; }
  std::string principal() const { return caller_ ? caller_->principal : std::string(core::kAnonymous); }
  void use_caller(core::CallerPtr caller);
  // Whose share what it makes us hold is of.
  const AccountPtr& account() const { return account_; }
  const http::RequestHead& head() const { return parser_.head(); }  // of the request being answered
  HeadFacts& facts() {                                              // of this head
    if (facts_.number != head().number) facts_ = HeadFacts(head());
    return facts_;
  }
  // Whether several callers come on it.
  Sharing& sharing() { return sharing_; }
  // No proxy stands between (client/http/proxy_signs.h).
  bool is_direct() const { return stream_ && comes_directly(peer_, head(), stream_->local_port()); }
  bool busy() const { return busy_; }
  // No request is being answered, and one more may come.
  bool may_ask() const { return stream_ && !busy_ && !lingering_; }
  // How long it has waited for a request, if that is what it does.
  std::optional<std::chrono::milliseconds> idle_for() const;
  bool may_keep_alive() const;

  // Answers the current request in one piece.
  void respond(int status, std::string_view content_type, const std::string& body,
               std::vector<http::OutHeader> headers = {});
  void close_when_idle();
  // Ends the connection at once, and tells its reply. Never from within a method of that.
  void cut(mcp::EndReason why);

  // For ConnectionReply only.
  void attach(ConnectionReply* reply) { reply_ = reply; }
  void write(std::string bytes);
  // What every answer to the current request says besides (client/http/cors.h).
  void add_headers(std::vector<http::OutHeader>& to) const;
  size_t backlog() const { return stream_ ? stream_->backlog() : 0; }
  void flush_now() {
    if (stream_) stream_->flush_now();
  }
  // Its machine is gone without a word (net/byte_stream.h).
  bool client_is_silent(std::chrono::milliseconds quiet) { return stream_ && stream_->peer_is_silent(quiet); }
  void reply_finished(bool keep_alive, int status);
  void reply_dropped();

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  void pump();
  bool had_its_turn();
  void begin();
  void arm();
  void refuse(const http::RequestFault& fault);
  void note_held();
  void use_account(AccountPtr account);
  void linger();
  void watch_writes();
  void close();

  net::Loop& loop_;
  const config::Listen& limits_;
  RequestHandler& handler_;
  std::unique_ptr<net::ByteStream> stream_;
  std::string peer_;
  std::string client_;  // empty: the peer
  core::CallerPtr caller_;
  AccountPtr account_;
  http::RequestParser parser_;
  HeadFacts facts_;  // of the head that was asked about last
  Sharing sharing_;
  net::Timer timer_;
  http::RequestParser::Phase timed_ = http::RequestParser::Phase::complete;  // the phase the timer runs for
  ConnectionReply* reply_ = nullptr;
  std::chrono::milliseconds request_at_{0};  // when the request being answered was complete
  std::chrono::milliseconds idle_at_{0};     // when it began to wait for a request
  bool busy_ = false;                        // a request is being answered
  bool unread_ = false;                      // of the request being answered, the body
  bool lingering_ = false;                   // the last answer is on its way; what still comes is thrown away
  HeldBytes held_{Held::bodies};             // of its requests, until they are handed on
  size_t last_backlog_ = 0;                  // for the timer that watches a slow reader
  uint64_t begun_in_ = 0;                    // the turn of the loop in which so many requests were begun
  size_t begun_ = 0;
  bool waits_for_turn_ = false;
  bool has_head_ = false;  // of a request that is not begun: it may be another worker's
  net::Deferred pump_later_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client

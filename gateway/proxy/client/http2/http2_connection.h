// A client's HTTP/2 connection (RFC 9113). Each of its streams is what a connection of HTTP/1.1 is.
// http2::Session does framing, header compression and flow control, and bounds the work that a client can
// cause.
//
//   net::Stream ── Http2Connection ── Channel ── ClientConnection
//                                  └─ Relay ── socket ── ClientConnection of another worker
//
// A reset stream ends its channel, as a closed socket does, and a lost connection ends all of them.
//
// Owned by the ConnectionTable, which retires it after on_closed().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "foundation/base/account.h"
#include "foundation/net/loop.h"
#include "foundation/net/stream.h"
#include "protocol/http/answer_reader.h"
#include "protocol/http2/session.h"
#include "proxy/core/connection_end.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {

class Channel;
class Http2Connection;
class Relay;
class StreamEnd;
struct Http2Stream;

class Http2Owner {
 public:
  // A stream as a connection of its own. False: there may be no more; the client is told to try again.
  virtual bool on_channel(Http2Connection& connection, std::unique_ptr<Channel> channel) = 0;
  // Closed; must be retired.
  virtual void on_closed(Http2Connection& connection) = 0;

 protected:
  ~Http2Owner() = default;
};

class Http2Connection final : private net::StreamCallbacks, private http2::SessionEvents {
 public:
  Http2Connection(net::Loop& loop, const config::Listen& limits, Http2Owner& owner,
                  std::unique_ptr<net::Stream> stream, std::string peer, AccountPtr account);
  ~Http2Connection();
  // `first`: bytes that were read already.
  void begin(std::string_view first);

  const std::string& peer() const { return peer_; }
  const core::ConnectionEndPtr& end() const { return end_; }
  bool may_ask() const { return stream_ != nullptr && !last_words_; }
  // A proxy made the connection for its client.
  void comes_by_proxy() { by_proxy_ = true; }
  bool by_proxy() const { return by_proxy_; }
  // Bytes for the client that no channel counts: of the socket, and of streams of other workers.
  size_t backlog() const;
  // Streams of other workers are charged to it.
  const AccountPtr& account() const { return account_; }
  // The time without streams, if it has none.
  std::optional<std::chrono::milliseconds> idle_for() const;
  // GOAWAY: announces the end; streams that are on their way are still served.
  void announce_end();
  // Ends when its streams have ended; no further one begins.
  void end_when_idle();
  // GOAWAY, and closed at once: for a connection without streams.
  void end_now();
  // Ends at once, with all streams.
  void cut();

  // For Channel and Relay.
  void answer(Http2Stream& stream, std::string bytes);
  // The answer stays without an end.
  void reset(Http2Stream& stream);
  // The request was not served, and the client may send it again.
  void refuse(Http2Stream& stream);
  void may_give(Http2Stream& stream);
  void flush_now();
  bool move_to_relay(Http2Stream& stream, int socket);
  // It serves no stream now, and may serve another.
  void keep(Channel& channel) { idle_channels_.push_back(&channel); }
  void forget(Channel& channel);
  void forget(Relay& relay);
  const net::TlsSession* tls() const { return stream_ ? stream_->tls() : nullptr; }
  bool peer_is_silent(std::chrono::milliseconds quiet) { return stream_ && stream_->peer_is_silent(quiet); }
  uint16_t local_port() const { return stream_ ? stream_->local_port() : uint16_t{0}; }

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;

  void on_head_begins(int32_t id, bool first) override;
  bool on_field(int32_t id, bool first, std::string_view name, std::string_view value) override;
  void on_head(int32_t id, bool first, bool ends) override;
  void on_body(int32_t id, std::string_view bytes) override;
  void on_body_end(int32_t id) override;
  void on_body_taken(int32_t id) override;
  void on_end_sent(int32_t id) override;
  void on_stream_closed(int32_t id, uint32_t code) override;

  Http2Stream* find(int32_t id);
  void read_request(Http2Stream& stream, bool ends);
  StreamEnd* choose_end(Http2Stream& stream);
  bool may_keep_end() const;
  void send_head(Http2Stream& stream, const http::AnswerHead& head, bool ends);
  void send_reset(const Http2Stream& stream, uint32_t code);
  void end(Http2Stream& stream, uint32_t code);
  void later();
  void run();
  void flush();
  void settle();
  void note_client_end();
  void say_last(uint32_t code);
  void fail(metrics::Http2Fault fault, std::string_view why, uint32_t code);
  void close();
  void finish();
  void linger(size_t left);
  void watch();
  void check();

  net::Loop& loop_;
  const config::Listen& limits_;
  Http2Owner& owner_;
  std::unique_ptr<net::Stream> stream_;  // null: closed
  const std::string peer_;
  const core::ConnectionEndPtr end_ = std::make_shared<core::ConnectionEnd>();
  const AccountPtr account_;
  http2::Session session_;
  std::unordered_map<int32_t, std::unique_ptr<Http2Stream>> streams_;
  std::vector<Channel*> channels_, idle_channels_;  // all of them; those that serve no stream
  std::vector<std::unique_ptr<Relay>> relays_;
  struct Closed {
    std::unique_ptr<Http2Stream> stream;
    bool whole;
  };
  std::vector<Closed> closed_;    // their ends are to be told
  std::vector<int32_t> drained_;  // the same
  bool last_words_ = false;       // the final GOAWAY was sent
  bool announced_ = false;        // it will be
  bool ending_ = false;           // everything is sent; waits for the client to close
  bool by_proxy_ = false;
  uint64_t written_ = 0, last_taken_ = 0;  // bytes, by the socket
  std::chrono::milliseconds began_at_, idle_at_, head_at_{0}, progress_at_{0}, due_{0};
  net::Timer timer_;
  net::Deferred run_later_;
};

}  // namespace lineward::client

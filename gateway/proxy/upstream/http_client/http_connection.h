// A connection to an HTTP server: connects, sends one request at a time and reads its response (RFC 9112).
// With HTTP/2 it is one stream of a connection that others share: there is one request.
//
// Owned by the transfer that uses it, or by the pool while it is idle. Its owner may close() it in any
// callback and must free it at the end of the turn (Loop::retire()). No callback after close(), none from
// inside start() and send().
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/net/byte_stream.h"
#include "foundation/net/connector.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls.h"
#include "protocol/http/response_parser.h"
#include "protocol/mcp/end_reason.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http_client/http_proxy.h"
#include "proxy/upstream/http_client/http_url.h"

namespace lineward::upstream {

class HttpTransfer;
class Http2Links;
class LinkStream;

class HttpConnection final : public net::StreamCallbacks {
 public:
  HttpConnection(net::Loop& loop, const HttpUrl& url, const http::ResponseLimits& limits);
  ~HttpConnection() { close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Receives the events of the next request; null while the connection is idle.
  void set_owner(HttpTransfer* owner) { owner_ = owner; }
  // `tls` is null for plain HTTP, `resolver` for a Unix socket. With a proxy the resolver is the proxy's, and
  // TLS uses a tunnel (RFC 9110 9.3.6, CONNECT). Requests without TLS send the full URL to the proxy.
  void connect(net::Resolver* resolver, const HttpProxy* proxy, std::shared_ptr<net::TlsContext> tls,
               std::chrono::milliseconds limit);
  // Before connect() or wait(): HTTP/2 is possible. Must outlive the connection's close().
  void use(Http2Links& links) { links_ = &links; }
  // Instead of connect(): one of three follows, join(), fail_waiting() or connect(). `limit` as there.
  void wait(std::chrono::milliseconds limit);
  void fail_waiting(const core::Failure& fault);
  // It waits for a stream of a connection, or was closed while it did.
  bool waits() const { return waits_; }
  // Instead of connect(): it is a stream.
  void attach(std::unique_ptr<LinkStream> stream);
  // The same, and its owner is told that it is connected.
  void join(std::unique_ptr<LinkStream> stream);
  // The lease is kept as long as the connection.
  void hold(std::shared_ptr<void> lease) { lease_ = std::move(lease); }
  void send(std::string head, std::string_view body);
  // The response's body is a stream: no limit as a whole.
  void unlimited_body() { parser_.unlimited_body(); }
  // Back-pressure: stops or resumes reading. Bytes already read are still delivered.
  void pause();
  void resume();
  // Stops reading for this turn of the loop.
  void leave_to_others() {
    if (stream_ && !closed_) stream_->put_back({});
  }
  // Closes it at once, whatever is in flight.
  void close();

  bool connected() const { return stream_ != nullptr && !closed_; }
  // The exchange was complete and valid, and the server keeps the connection open.
  bool reusable() const {
    return connected() && !busy_ && keep_alive_ && !parser_.trailing() && shared_ == nullptr;
  }
  // No byte arrived while it was idle, as far as the kernel knows now.
  bool quiet() const { return connected() && socket_ != nullptr && socket_->quiet(); }
  // The last request failed, and the server did not process it (HTTP/2): it may be sent again.
  bool is_unprocessed() const;
  // Others share the connection: its server may leave single requests unprocessed.
  bool is_shared() const { return shared_ != nullptr; }
  const std::string& address() const { return address_; }
  // The server's Keep-Alive timeout (Keep-Alive: timeout=N), less a second.
  std::optional<std::chrono::milliseconds> idle_limit() const { return idle_limit_; }
  // While idle: called when it becomes unusable.
  void when_lost(std::function<void()> lost) { lost_ = std::move(lost); }

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;
  void tcp_connected(net::Connector::Connected connected);
  void ask_for_tunnel();
  void read_tunnel_answer(std::string_view bytes);
  void start_tls();
  void tls_progress();
  void speak_http2(std::string_view first);
  uint64_t sent() const { return socket_ != nullptr ? socket_->sent() : 0; }
  void read_response();
  void note_keep_alive();
  void fail(mcp::EndReason reason, std::string text, int64_t limit_ms = -1);
  void connect_timed_out(const std::string& what);

  net::Loop& loop_;
  const HttpUrl& url_;
  HttpTransfer* owner_ = nullptr;
  std::unique_ptr<net::Connector> connector_;
  std::unique_ptr<net::Stream> stream_;
  net::ByteStream* socket_ = nullptr;  // stream_, with HTTP/1.1
  LinkStream* shared_ = nullptr;       // stream_, with HTTP/2
  Http2Links* links_ = nullptr;        // null: there is no HTTP/2, or it is settled
  std::shared_ptr<net::TlsContext> tls_context_;
  std::unique_ptr<net::TlsEngine> tls_;
  http::ResponseParser parser_;
  const HttpProxy* proxy_ = nullptr;
  bool tunnelling_ = false;  // CONNECT was sent and is not answered
  std::string tunnel_head_;
  net::Timer handshake_limit_;
  std::chrono::milliseconds connect_limit_{0};
  std::chrono::milliseconds deadline_{0};
  std::function<void()> lost_;
  std::string address_;
  std::optional<std::chrono::milliseconds> idle_limit_;
  std::shared_ptr<void> lease_;
  uint64_t sent_before_ = 0;  // bytes sent before this request
  bool waits_ = false;        // for a stream
  bool tls_ready_ = false;
  bool busy_ = false;  // between send() and the end of the response
  bool drained_told_ = false;
  bool keep_alive_ = false;
  bool ended_ = false;  // the other side has ended its output
  bool closed_ = false;
};

}  // namespace lineward::upstream

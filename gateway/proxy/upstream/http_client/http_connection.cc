#include "proxy/upstream/http_client/http_connection.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "protocol/http/response_gate.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http_client/http2_links.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/http_client/link_stream.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;

constexpr milliseconds kMaxIdle{60000};
constexpr size_t kMaxTunnelHead = 16 * 1024;

}  // namespace

HttpConnection::HttpConnection(net::Loop& loop, const HttpUrl& url, const http::ResponseLimits& limits)
    : loop_(loop), url_(url), parser_(limits), handshake_limit_(loop) {}

void HttpConnection::connect(net::Resolver* resolver, const HttpProxy* proxy,
                             std::shared_ptr<net::TlsContext> tls, milliseconds limit) {
  handshake_limit_.stop();
  waits_ = false;
  proxy_ = proxy;
  tls_context_ = std::move(tls);
  connect_limit_ = limit;
  deadline_ = loop_.now() + limit;
  auto done = [this](net::Connector::Connected connected) { tcp_connected(std::move(connected)); };
  connector_ = resolver != nullptr ? std::make_unique<net::Connector>(loop_, *resolver, limit, done)
                                   : std::make_unique<net::Connector>(loop_, url_.unix_path, limit, done);
}

void HttpConnection::tcp_connected(net::Connector::Connected connected) {
  address_ = connector_->address();
  loop_.retire(std::move(connector_));
  if (!connected) {
    const Error& failure = connected.error();
    std::string text = proxy_ != nullptr ? "its proxy: " + failure.text : failure.text;
    if (failure.code == ETIMEDOUT) return connect_timed_out(text);
    return fail(EndReason::upstream_unreachable, std::move(text));
  }
  socket_ = connected->get();
  stream_ = std::move(*connected);
  stream_->set_owner(this);
  stream_->start_reading();
  if (!tls_context_ && links_ != nullptr && links_->is_required()) return speak_http2({});
  if (!tls_context_) return owner_->on_connected();
  handshake_limit_.start(deadline_ - loop_.now(), [this] {
    connect_timed_out(tunnelling_ ? fmt::format("its proxy {} did not answer CONNECT in time", address_)
                                  : fmt::format("did not finish the TLS handshake at {} in time", address_));
  });
  proxy_ != nullptr ? ask_for_tunnel() : start_tls();
}

void HttpConnection::ask_for_tunnel() {
  tunnelling_ = true;
  bool v6 = url_.host.find(':') != std::string::npos;
  std::string authority = fmt::format("{}{}{}:{}", v6 ? "[" : "", url_.host, v6 ? "]" : "", url_.port);
  std::string head = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", authority);
  if (!proxy_->authorization.empty()) head += "Proxy-Authorization: " + proxy_->authorization + "\r\n";
  stream_->write(head + "\r\n");
}

void HttpConnection::read_tunnel_answer(std::string_view bytes) {
  tunnel_head_ += bytes;
  for (;;) {
    size_t end = tunnel_head_.find("\r\n\r\n");
    if (end == std::string::npos && tunnel_head_.size() <= kMaxTunnelHead) return;
    http::ResponseLimits limits;
    limits.head_bytes = kMaxTunnelHead;
    std::string_view head =
        std::string_view(tunnel_head_).substr(0, end == std::string::npos ? end : end + 4);
    if (end == std::string::npos || !http::check_response_head(head, limits)) {
      return fail(EndReason::upstream_unreachable,
                  fmt::format("its proxy {} answered CONNECT with no valid HTTP", address_));
    }
    int status = std::atoi(tunnel_head_.c_str() + tunnel_head_.find(' ') + 1);
    if (status >= 200 && status < 300) break;
    if (status >= 200) {
      return fail(EndReason::upstream_unreachable,
                  fmt::format("its proxy {} {} ({})", address_,
                              status == 407 ? "refused our credentials" : "refused the connection", status));
    }
    tunnel_head_.erase(0, end + 4);
  }
  if (tunnel_head_.find("\r\n\r\n") + 4 != tunnel_head_.size()) {
    return fail(EndReason::upstream_unreachable,
                fmt::format("its proxy {} spoke in the server's place", address_));
  }
  tunnelling_ = false;
  tunnel_head_.clear();
  start_tls();
}

void HttpConnection::start_tls() {
  auto engine = net::TlsEngine::for_client(tls_context_, url_.host,
                                           links_ != nullptr ? links_->alpn() : std::string_view());
  if (!engine) return fail(EndReason::upstream_unreachable, engine.error().text);
  tls_ = std::move(*engine);
  stream_->write(tls_->take_output());
}

void HttpConnection::connect_timed_out(const std::string& what) {
  fail(EndReason::timeout_connect,
       fmt::format("{} ({} ms, lineward timeouts.connect)", what, connect_limit_.count()),
       connect_limit_.count());
}

void HttpConnection::send(std::string head, std::string_view body) {
  busy_ = true;
  drained_told_ = false;
  keep_alive_ = false;
  lost_ = nullptr;
  sent_before_ = sent();
  parser_.begin();
  metrics::stats().bytes(metrics::Side::upstream, 0, head.size() + body.size());
  if (tls_) {
    tls_->write(head);
    tls_->write(body);
    stream_->write(tls_->take_output());
  } else {
    head += body;
    stream_->write(std::move(head));
  }
}

void HttpConnection::pause() {
  if (stream_ && !closed_ && !ended_) stream_->pause_reading();
}

void HttpConnection::resume() {
  if (stream_ && !closed_ && !ended_) stream_->start_reading();
}

void HttpConnection::close() {
  if (closed_) return;
  closed_ = true;
  owner_ = nullptr;
  lost_ = nullptr;
  handshake_limit_.stop();
  if (Http2Links* links = std::exchange(links_, nullptr)) links->forget(*this);
  if (connector_) connector_->stop();
  loop_.retire(std::move(connector_));
  if (stream_) stream_->close();
}

bool HttpConnection::is_unprocessed() const {
  return busy_ && shared_ != nullptr && shared_->loss().unprocessed;
}

void HttpConnection::on_drained() {
  if (!busy_ || drained_told_ || closed_ || (tls_context_ && !tls_ready_)) return;
  drained_told_ = true;
  owner_->on_request_drained();
}

void HttpConnection::tls_progress() {
  if (tls_ready_ || tls_->state() != net::TlsEngine::State::open) return;
  tls_ready_ = true;
  handshake_limit_.stop();
  if (links_ != nullptr && links_->is_required())
    return fail(EndReason::upstream_unreachable, "does not agree to HTTP/2 (http2: on)");
  if (Http2Links* links = std::exchange(links_, nullptr)) links->speaks_http1(*this);
  owner_->on_connected();
}

// ---- HTTP/2 ----

// The connection is shared from here on; this is its first stream.
void HttpConnection::speak_http2(std::string_view first) {
  handshake_limit_.stop();
  socket_ = nullptr;
  Http2Links* links = std::exchange(links_, nullptr);
  links->speaks_http2(
      *this,
      {.socket = std::unique_ptr<net::ByteStream>(static_cast<net::ByteStream*>(stream_.release())),
       .tls = std::move(tls_),
       .lease = std::move(lease_),
       .address = address_,
       .deadline = deadline_,
       .connect_limit = connect_limit_},
      first);
}

void HttpConnection::attach(std::unique_ptr<LinkStream> stream) {
  links_ = nullptr;
  handshake_limit_.stop();
  waits_ = false;
  tls_ready_ = true;
  shared_ = stream.get();
  stream_ = std::move(stream);
  stream_->set_owner(this);
}

void HttpConnection::join(std::unique_ptr<LinkStream> stream) {
  attach(std::move(stream));
  owner_->on_connected();
}

void HttpConnection::wait(milliseconds limit) {
  connect_limit_ = limit;
  waits_ = true;
  handshake_limit_.start(
      limit, [this] { connect_timed_out("has no connection: no HTTP/2 stream was free in time"); });
}

void HttpConnection::fail_waiting(const core::Failure& fault) {
  waits_ = false;
  fail(fault.reason, fault.text, fault.limit_ms);
}

// ---- the response ----

void HttpConnection::on_data(std::string_view bytes) {
  if (closed_) return;
  metrics::stats().bytes(metrics::Side::upstream, bytes.size(), 0);
  if (tunnelling_) return read_tunnel_answer(bytes);
  if (!tls_) {
    parser_.borrow(bytes);
    return read_response();
  }
  std::string plain;
  auto state = tls_->feed(bytes, plain);
  stream_->write(tls_->take_output());
  if (!tls_ready_ && state == net::TlsEngine::State::open && links_ != nullptr && tls_->protocol() == "h2")
    return speak_http2(plain);
  parser_.borrow(plain);
  if (state == net::TlsEngine::State::failed) {
    if (busy_ && !plain.empty()) read_response();
    if (!closed_) fail(EndReason::upstream_unreachable, tls_->fault());
    return;
  }
  tls_progress();
  if (closed_) return;
  if (state == net::TlsEngine::State::closed) {
    ended_ = true;
    parser_.finish();
    if (busy_) read_response();
    if (!closed_ && !busy_) fail(EndReason::upstream_unreachable, "closed the connection");
    return;
  }
  if (!plain.empty()) read_response();
}

void HttpConnection::on_end(int error) {
  if (closed_) return;
  ended_ = true;
  if (shared_ != nullptr && error != 0) {
    const LinkLoss& loss = shared_->loss();
    return fail(loss.reason, loss.text, loss.limit_ms);
  }
  if (busy_ && error == 0 && !tls_) {
    // May be the end of a body that ends with the connection.
    parser_.finish();
    return read_response();
  }
  std::string text =
      error == 0 ? "closed the connection" : fmt::format("broke the connection: {}", strerror(-error));
  if (tunnelling_) text = "its proxy " + text;
  if (busy_ && error == 0 && tls_) text = "ended the TLS connection without saying so";
  fail(EndReason::upstream_unreachable, std::move(text));
}

void HttpConnection::read_response() {
  if (!busy_) {
    // Idle: any byte is unexpected. The connection is unusable now.
    return fail(EndReason::upstream_protocol, "sent an answer without a request");
  }
  while (!closed_) {
    switch (parser_.next()) {
      case http::ResponseParser::Next::need_more: return;
      case http::ResponseParser::Next::head:
        note_keep_alive();
        owner_->on_response_head(parser_.info());
        break;
      case http::ResponseParser::Next::body: owner_->on_response_body(parser_.body()); break;
      case http::ResponseParser::Next::complete:
        busy_ = false;
        if (shared_ != nullptr) shared_->answered();
        resume();
        // After an answer before the whole request was sent, the rest of the request would be read as the
        // next one.
        keep_alive_ = !ended_ && parser_.info().keep_alive && stream_->backlog() == 0;
        return owner_->on_response_complete();
      case http::ResponseParser::Next::failed: {
        if (ended_)
          return fail(EndReason::upstream_unreachable, "closed the connection in the middle of a call");
        if (parser_.too_long())
          return fail(EndReason::upstream_protocol,
                      "sent too much: " + parser_.fault() + " (limits.maxMessageBytes)");
        if (parser_.head_too_long())
          return fail(EndReason::upstream_protocol,
                      "sent too much: " + parser_.fault() + " (limits.maxHeadBytes)");
        return fail(EndReason::upstream_protocol,
                    "sent a response that is not valid HTTP: " + parser_.fault());
      }
    }
  }
}

void HttpConnection::note_keep_alive() {
  idle_limit_.reset();
  std::string_view value = parser_.info().headers.get("Keep-Alive");
  size_t at = value.find("timeout=");
  if (at == std::string_view::npos) return;
  uint32_t seconds = 0;
  std::string_view digits = value.substr(at + 8);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error != std::errc()) return;
  // A second less than announced: the request must arrive before the server closes.
  milliseconds told{seconds > 1 ? (static_cast<int64_t>(seconds) - 1) * 1000 : 0};
  idle_limit_ = std::min(told, kMaxIdle);
}

void HttpConnection::fail(EndReason reason, std::string text, int64_t limit_ms) {
  if (closed_) return;
  core::Failure fault{reason, std::move(text), limit_ms};
  fault.oversize = parser_.too_long();
  fault.nothing_sent = !busy_ || (shared_ != nullptr ? shared_->loss().unprocessed
                                                     : socket_ != nullptr && sent() == sent_before_);
  HttpTransfer* owner = owner_;
  auto lost = std::move(lost_);
  bool idle = !busy_ && stream_ != nullptr && lost;
  if (Http2Links* links = std::exchange(links_, nullptr)) links->failed(*this, fault);
  close();
  if (idle) return lost();
  if (owner != nullptr) owner->on_connection_failed(fault);
}

}  // namespace lineward::upstream

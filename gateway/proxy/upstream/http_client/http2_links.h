// The HTTP/2 connections of a pool, and the requests that wait for one. While the server is not known to
// speak HTTP/2, each request opens a connection, as with HTTP/1.1, and ALPN decides. From then on a request
// gets a stream of a connection that has room; else it waits for one that is being opened.
//
// Owned by its HttpPool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/net/address.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/http_client/http2_link.h"

namespace lineward::upstream {

class HttpConnection;
class HttpPool;

class Http2Links final : public Http2LinkOwner {
 public:
  Http2Links(HttpPool& pool, config::ServerHttp2 mode);
  ~Http2Links();
  Http2Links(const Http2Links&) = delete;
  Http2Links& operator=(const Http2Links&) = delete;

  // The protocols to offer by ALPN, as TLS writes them; empty: none.
  std::string_view alpn() const;
  // No other protocol will do, without TLS too.
  bool is_required() const { return mode_ == config::ServerHttp2::always; }
  // A stream at once, of a connection that has room; null: there is none.
  std::unique_ptr<LinkStream> take();
  // A new connection: it waits for a stream (true), or has to connect.
  bool park(HttpConnection& connection);
  // A request finds a stream, or will soon.
  bool has_room() const;
  // Connections without streams.
  size_t idle() const;
  bool is_waiting() const { return !waiting_.empty(); }
  void close_idle();
  // Connections to other addresses get no more streams.
  void keep(const net::Addresses& addresses);

  // From connections that park() has seen.
  void speaks_http2(HttpConnection& connection, Http2Link::Parts parts, std::string_view first);
  void speaks_http1(HttpConnection& connection);
  void failed(HttpConnection& connection, const core::Failure& fault);
  void forget(HttpConnection& connection);

 private:
  enum class Known : uint8_t { nothing, http1, http2 };
  void on_link_room() override { assign_later_.schedule(); }
  bool on_link_idle() override;
  void on_link_http1() override;
  std::chrono::milliseconds link_idle_timeout() const override;
  void on_link_over(Http2Link& link) override;

  Http2Link* find_room() const;
  std::unique_ptr<LinkStream> stream_of(Http2Link& link);
  size_t expected() const;
  bool may_connect() const;
  void assign();

  HttpPool& pool_;
  const config::ServerHttp2 mode_;
  Known known_;
  bool refuses_ = false;     // the server requires HTTP/1.1
  size_t most_streams_ = 1;  // of a connection, as the server said last
  std::vector<std::unique_ptr<Http2Link>> links_;
  std::deque<HttpConnection*> waiting_;
  std::set<HttpConnection*> openers_;  // connect for those that wait, too
  std::unique_ptr<core::Failure> last_fault_;
  net::Deferred assign_later_;
};

}  // namespace lineward::upstream

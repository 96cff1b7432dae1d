// The HTTP connections of one worker. Admits or closes new ones (listen.maxConnections and its share of an
// address), and takes connections from other workers. Connections of trusted proxies wait for their PROXY
// header first. Cuts slow readers when too many bytes are pending. A stream of HTTP/2 is a connection here,
// beside the one that it is on.
//
// Owned by the HttpFront. A closed connection is freed at the end of the turn.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "config/config.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls_listener.h"
#include "proxy/client/http/awaited_header.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/connection_caps.h"
#include "proxy/client/http/moved_connection.h"
#include "proxy/client/http/trusted_proxies.h"
#include "proxy/client/http2/http2_connection.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {

class ConnectionTable final : private Http2Owner {
 public:
  // `caps` are shared by the tables of all workers. `handler` receives the connections' requests; it must
  // call remove() for each closed connection.
  ConnectionTable(net::Loop& loop, const config::Listen& config, RequestHandler& handler,
                  std::shared_ptr<ConnectionCaps> caps);
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // The TLS of connections that are accepted from here on.
  void use_tls(std::shared_ptr<const net::CurrentTls> tls) { tls_ = std::move(tls); }
  // Connections from there are a replica's, which has those of many clients.
  void use_replicas(std::function<bool(std::string_view peer)> is_replica) {
    is_replica_ = std::move(is_replica);
  }
  TrustedProxies& proxies() { return proxies_; }
  const TrustedProxies& proxies() const { return proxies_; }
  // Called by the listener. A connection over the limit is closed at once, unless another one has been idle
  // for long and is closed for it.
  void accept(std::unique_ptr<net::ByteStream> stream, std::string peer);
  // A connection was closed before it reached this table, for that reason.
  void turned_away(metrics::Overload why);
  // This table is that of worker `self`, of `workers`. With `hand_on`, a new connection goes to the worker
  // with the fewest if this one has more.
  using HandOn = std::function<void(size_t worker, NewConnection connection)>;
  void spread(size_t self, size_t workers, HandOn hand_on);
  // Takes a connection that another worker had accepted and counted.
  void adopt(MovedConnection moved);
  void adopt(NewConnection accepted);
  // Called from RequestHandler::belongs_elsewhere(): the state for the other worker; the connection leaves
  // this table. Empty: it stays, and asks again when its answers are written, or was cut.
  std::optional<MovedConnection> move_out(ClientConnection& connection);
  void remove(ClientConnection& connection);
  // The client speaks HTTP/2 on this connection, from those bytes on.
  void speak_http2(ClientConnection& connection, std::string_view first);

  size_t size() const { return connections_.size() + http2_.size(); }
  // The maximum since the last call.
  size_t take_most() { return std::exchange(most_, size()); }
  // Bytes of answers that clients have not read yet.
  size_t backlog() const;
  // Connections that may still send a request.
  size_t idle() const;

  // So many bytes are held that requests are refused (listen.maxBufferedBytes): at the end of the turn, the
  // slowest readers are cut.
  void make_room_later() { make_room_later_.schedule(); }
  // The same at once, for the requests of this turn; once in a turn. The calling connection may be cut too.
  void make_room_now();
  // Idle connections are closed after one more answer or a second: their clients may have sent something
  // before they could see the close.
  void close_idle_soon();
  void close_all();

 private:
  bool on_channel(Http2Connection& connection, std::unique_ptr<Channel> channel) override;
  void on_closed(Http2Connection& connection) override;
  bool admit(const std::string& peer);
  void release(ClientConnection& connection);
  void keep(std::unique_ptr<ClientConnection> connection);
  void begin(std::unique_ptr<net::ByteStream> stream, std::string peer);
  void begin_http(std::unique_ptr<net::ByteStream> stream, std::string peer, bool by_proxy);
  void header_over(AwaitedHeader& header);
  void note_header(metrics::ProxyHeader outcome, std::string_view peer, std::string_view fault) const;
  size_t most_of_address(std::string_view peer) const;
  bool hand_on(net::ByteStream& stream, const std::string& peer);
  bool close_longest_idle();
  size_t close_idle_http2(std::chrono::milliseconds least, size_t most);
  void make_room();
  void close_awaited();

  net::Loop& loop_;
  const config::Listen& config_;
  RequestHandler& handler_;
  const std::shared_ptr<ConnectionCaps> caps_;
  size_t self_ = 0, workers_ = 1;
  HandOn hand_on_;
  std::shared_ptr<const net::CurrentTls> tls_;
  TrustedProxies proxies_;
  std::function<bool(std::string_view peer)> is_replica_;  // null: none is
  std::unordered_map<const AwaitedHeader*, std::unique_ptr<AwaitedHeader>> awaited_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  std::unordered_map<const Http2Connection*, std::unique_ptr<Http2Connection>> http2_;
  size_t most_ = 0;
  std::chrono::milliseconds looked_for_idle_{0};
  net::Timer last_chance_;
  net::Deferred make_room_later_;
  bool made_room_ = false;  // in this turn
};

}  // namespace lineward::client

// The HTTP connections of one worker: which are taken and which are closed at once (listen.maxConnections and
// its share of an address), which came from another worker, and which are cut where too much waits for
// clients.
//
// Owned by the HttpFront. A connection that is over is freed at the end of the turn.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "client/http/client_connection.h"
#include "client/http/connection_caps.h"
#include "client/http/moved_connection.h"
#include "config/config.h"
#include "metrics/stats.h"
#include "net/loop.h"

namespace lineward::client {

class ConnectionTable {
 public:
  // `caps` are shared by the tables of all workers. `handler` gets what the connections bring; it must call
  // remove() for each that is closed.
  ConnectionTable(net::Loop& loop, const config::Listen& config, RequestHandler& handler,
                  std::shared_ptr<ConnectionCaps> caps);
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // From the listener. One too many is closed at once, where no other has been idle for long: nothing is owed
  // to it yet.
  void accept(std::unique_ptr<net::ByteStream> stream, std::string peer);
  // A connection was closed before it came here, for that reason.
  void turned_away(core::Overload why);
  // One that another worker had accepted, and counted.
  void adopt(MovedConnection moved);
  // From RequestHandler::belongs_elsewhere(): what goes to the other worker; it is none of these any more.
  // Nothing: it stays, and either asks again when its answers are out or was cut.
  std::optional<MovedConnection> move_out(ClientConnection& connection);
  void remove(ClientConnection& connection);

  size_t size() const { return connections_.size(); }
  // The most there were since this was asked last.
  size_t take_most() { return std::exchange(most_, connections_.size()); }
  // Bytes of answers that clients have not taken yet.
  size_t backlog() const;
  // Those that may still bring a request.
  size_t idle() const;

  // So much is held that requests are refused (listen.maxBufferedBytes): at the end of the turn, who takes
  // least of its answers makes room for the others.
  void make_room_later() { make_room_later_.schedule(); }
  // The same at once, for the requests that come in this turn; once in a turn. The caller's own connection
  // may be cut.
  void make_room_now();
  // Idle connections are closed after one more answer or a second: their clients may have sent something
  // before they could know.
  void close_idle_soon();
  void close_all();

 private:
  void keep(std::unique_ptr<ClientConnection> connection);
  bool close_longest_idle();
  void make_room();

  net::Loop& loop_;
  const config::Listen& config_;
  RequestHandler& handler_;
  const std::shared_ptr<ConnectionCaps> caps_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  size_t most_ = 0;
  std::chrono::milliseconds looked_for_idle_{0};
  net::Timer last_chance_;
  net::Deferred make_room_later_;
  bool made_room_ = false;  // in this turn
};

}  // namespace lineward::client

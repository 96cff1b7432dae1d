// A client's connection on its way between two workers: its socket, its TLS session, and the bytes read of a
// request that belongs to the other worker (docs/workers.md).
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "foundation/net/tls_session.h"
#include "protocol/http/request_parser.h"
#include "proxy/client/http/client_certificate.h"
#include "proxy/client/http/proxy_signs.h"
#include "proxy/core/connection_end.h"

namespace lineward::client {

struct MovedConnection {
  MovedConnection(int its_socket, std::unique_ptr<net::TlsSession> its_tls, http::RequestParser its_parser,
                  std::string its_peer, Sharing its_sharing, core::ConnectionEndPtr its_end)
      : socket(its_socket),
        tls(std::move(its_tls)),
        parser(std::move(its_parser)),
        peer(std::move(its_peer)),
        sharing(its_sharing),
        end(std::move(its_end)) {}
  MovedConnection(MovedConnection&& other) noexcept
      : socket(std::exchange(other.socket, -1)),
        tls(std::move(other.tls)),
        parser(std::move(other.parser)),
        peer(std::move(other.peer)),
        sharing(other.sharing),
        end(std::move(other.end)),
        certificate(std::move(other.certificate)),
        is_stream(other.is_stream),
        is_secure(other.is_secure),
        local_port(other.local_port) {}
  MovedConnection& operator=(MovedConnection&&) = delete;
  // Closes the socket unless a worker has taken it.
  ~MovedConnection() {
    if (socket >= 0) ::close(socket);
  }
  int take_socket() { return std::exchange(socket, -1); }

  int socket;
  std::unique_ptr<net::TlsSession> tls;  // null: plain
  http::RequestParser parser;            // next() has returned `head`
  std::string peer;
  Sharing sharing;  // covers all its requests, on any worker
  core::ConnectionEndPtr end;
  // Set for a stream of HTTP/2: its connection keeps the TLS session and the socket.
  std::unique_ptr<ClientCertificate> certificate;
  bool is_stream = false;
  bool is_secure = false;
  uint16_t local_port = 0;
};

// The same for a connection that was just accepted, and goes to the worker with the fewest.
struct NewConnection {
  NewConnection(int its_socket, std::string its_peer) : socket(its_socket), peer(std::move(its_peer)) {}
  NewConnection(NewConnection&& other) noexcept
      : socket(std::exchange(other.socket, -1)), peer(std::move(other.peer)) {}
  NewConnection& operator=(NewConnection&&) = delete;
  ~NewConnection() {
    if (socket >= 0) ::close(socket);
  }
  int take_socket() { return std::exchange(socket, -1); }

  int socket;
  std::string peer;
};

}  // namespace lineward::client

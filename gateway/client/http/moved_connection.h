// A client's connection between two workers: its socket, and what was read of the request that is another
// worker's (docs/workers.md).
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "client/http/proxy_signs.h"
#include "http/request_parser.h"

namespace lineward::client {

struct MovedConnection {
  MovedConnection(int its_socket, http::RequestParser its_parser, std::string its_peer, Sharing its_sharing)
      : socket(its_socket), parser(std::move(its_parser)), peer(std::move(its_peer)), sharing(its_sharing) {}
  MovedConnection(MovedConnection&& other) noexcept
      : socket(std::exchange(other.socket, -1)),
        parser(std::move(other.parser)),
        peer(std::move(other.peer)),
        sharing(other.sharing) {}
  MovedConnection& operator=(MovedConnection&&) = delete;
  // One that nobody took is over.
  ~MovedConnection() {
    if (socket >= 0) ::close(socket);
  }
  int take_socket() { return std::exchange(socket, -1); }

  int socket;
  http::RequestParser parser;  // next() has said `head`
  std::string peer;
  Sharing sharing;  // of all its requests, wherever they were answered
};

}  // namespace lineward::client

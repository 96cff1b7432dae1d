// Passes another party's response to a client unchanged: another replica's
// (proxy/client/replica/peer_pass.h), or that of a server without sessions
// (proxy/client/replica/pass_through_request.h). Either whole, or as head, body pieces and end.
//
// Owned by its pass.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/client/http/connection_reply.h"
#include "proxy/core/headers.h"

namespace lineward::client {

class PassedReply final : public ConnectionReply {
 public:
  PassedReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options)
      : ConnectionReply(loop, connection, std::move(options), nullptr) {}

  // A response in one piece, with exactly these headers.
  void whole(int status, std::vector<http::OutHeader> headers, std::string_view type,
             const std::string& body);
  // A response that is written in pieces.
  void head(int status, std::vector<http::OutHeader> headers, std::string_view type);
  void piece(std::string_view bytes);
  void end();
  // Lineward's own answer instead: a JSON-RPC message.
  void answer(const std::string& message, int status);
  // Cuts the connection before the answer's end.
  void cut() { cut_connection(); }
  // Releases the connection for another answer if nothing was written yet; this reply writes nothing more
  // then. False: the connection is closed, or something was written.
  bool release();
  // Headers of Lineward's own answers: these fields of the server, rewritten for the client, and the CORS
  // headers.
  std::vector<http::OutHeader> own_headers(const core::HeaderFields& fields) const;

  // The client's connection is still open.
  bool has_client() const { return connected(); }
  bool above_high_watermark() { return has_backlog(); }
  void when_drained(std::function<void()> drained) { await_drain(std::move(drained)); }
};

}  // namespace lineward::client

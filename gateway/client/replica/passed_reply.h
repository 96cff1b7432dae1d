// Gives a client somebody else's response as it came: another replica's (client/replica/peer_pass.h), or that
// of a server which keeps no sessions (client/replica/plain_pass.h). Whole, or its head, its body in pieces,
// and its end.
//
// Owned by the pass that it is for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/http/connection_reply.h"
#include "core/headers.h"

namespace lineward::client {

class PassedReply final : public ConnectionReply {
 public:
  PassedReply(net::Loop& loop, ClientConnection& connection, ReplyOptions&& options)
      : ConnectionReply(loop, connection, std::move(options), nullptr) {}

  // A response in one piece, with no header but these.
  void whole(int status, std::vector<http::OutHeader> headers, std::string_view type,
             const std::string& body);
  // Or one that is written as it comes.
  void head(int status, std::vector<http::OutHeader> headers, std::string_view type);
  void piece(std::string_view bytes);
  void end();
  // An answer of our own in its place: a JSON-RPC message.
  void answer(const std::string& message, int status);
  // Breaks off.
  void cut() { cut_connection(); }
  // Nothing was said yet: its connection waits for another answer, and this one says nothing more. False:
  // the connection is gone, or something was said.
  bool release();
  // What an answer of Lineward's says: these fields of the server as the client is told them, and what pages
  // of other origins want to hear.
  std::vector<http::OutHeader> own_headers(const core::HeaderFields& fields) const;

  // Its client's connection is still there.
  bool has_client() const { return connected(); }
  bool above_high_watermark() { return has_backlog(); }
  void when_drained(std::function<void()> drained) { await_drain(std::move(drained)); }
};

}  // namespace lineward::client

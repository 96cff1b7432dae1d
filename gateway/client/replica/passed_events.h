// What of an event stream has been passed to a client that waits for the answer to one call: whether Lineward
// can still say in it that no answer will come.
//
// Owned by the PeerPass of that call. Keeps no more than one event of 64 KiB: of a longer one it is not known
// what it was.
#pragma once

#include <string>
#include <string_view>

#include "http/sse_parser.h"

namespace lineward::client {

class PassedEvents {
 public:
  // The id of the call, as JSON.
  explicit PassedEvents(std::string raw_id);

  void passed(std::string_view bytes);
  // The stream stands between two events, none of them was the answer, and none named an id with which the
  // client can ask for the rest (MCP 2025-11-25, transports, "Resumability and Redelivery").
  bool wants_answer() const;
  size_t kept() const { return parser_.kept(); }

 private:
  void look(const http::SseEvent& event);

  std::string raw_id_;
  http::SseParser parser_;
  bool over_ = false;  // answered, resumable, or nobody knows
  std::string end_;    // the last two bytes
};

}  // namespace lineward::client

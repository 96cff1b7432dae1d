// Follows an event stream that is passed to a client during one call. Decides whether Lineward can still
// append an error in place of the answer.
//
// Owned by the PeerPass of that call. Keeps at most one event of 64 KiB; a longer event counts as possibly
// the answer.
#pragma once

#include <string>
#include <string_view>

#include "protocol/http/sse_parser.h"

namespace lineward::client {

class PassedEvents {
 public:
  // The id of the call, as JSON.
  explicit PassedEvents(std::string raw_id);

  void passed(std::string_view bytes);
  // The stream is between two events, and none of them was the answer. None had an id from which the client
  // can resume (MCP 2025-11-25, transports, "Resumability and Redelivery").
  bool wants_answer() const;
  size_t kept() const { return parser_.kept(); }

 private:
  void look(const http::SseEvent& event);

  std::string raw_id_;
  http::SseParser parser_;
  bool over_ = false;  // answered, resumable, or unknown
  std::string end_;    // the last two bytes
};

}  // namespace lineward::client

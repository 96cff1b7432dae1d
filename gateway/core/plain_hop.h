// A GET or DELETE of a legacy client to a server that keeps no sessions: it carries no message, means no
// session, and is answered as the server answers it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/headers.h"

namespace lineward::core {

struct HopRequest {
  std::string_view method;  // a literal
  HeaderFields headers;     // of the client's, that may go on
};

// Nothing of it is called from inside ExchangeApi::hop() or a method of Hop.
class HopListener {
 public:
  // `headers`: those that the client may see. A stream of events has no length.
  virtual void on_hop_head(int status, std::string type, HeaderFields headers) = 0;
  virtual void on_hop_body(std::string_view bytes) = 0;
  // The last. `why`: what went wrong, in words for the client; empty: it is complete.
  virtual void on_hop_end(const std::string& why) = 0;

 protected:
  ~HopListener() = default;
};

// Destroying it gives up; its owner frees it at the end of the turn.
class Hop {
 public:
  virtual ~Hop() = default;
  // The client reads slowly: no more of the answer for now.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

}  // namespace lineward::core

// A GET or DELETE of a legacy client to a server that keeps no sessions. It carries no message and belongs to
// no session; the server's response is forwarded.
//
// These are interfaces because such a request goes from client/ through exchange/ down to upstream/http, and
// its response goes back up. The folder upstream/http must not include client/, and exchange/ knows no
// transport.
#pragma once

#include <string>
#include <string_view>

#include "proxy/core/headers.h"

namespace lineward::core {

struct HopRequest {
  std::string_view method;  // a literal
  HeaderFields headers;     // of the client, filtered for forwarding
};

// Never called from within ExchangeApi::hop() or a method of Hop.
class HopListener {
 public:
  // `headers`: filtered for the client. An event stream has no length.
  virtual void on_hop_head(int status, std::string type, HeaderFields headers) = 0;
  virtual void on_hop_body(std::string_view bytes) = 0;
  // The last callback. `why`: the error text for the client; empty: complete.
  virtual void on_hop_end(const std::string& why) = 0;

 protected:
  ~HopListener() = default;
};

// Destroying it aborts the request; its owner frees it at the end of the turn.
class Hop {
 public:
  virtual ~Hop() = default;
  // Pauses the response: the client reads slowly.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

}  // namespace lineward::core

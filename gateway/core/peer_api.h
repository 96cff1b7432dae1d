// The way to the other replicas: a whole HTTP request, and the response as it comes (docs/replicas.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/response_parser.h"
#include "http/writer.h"

namespace lineward::core {

struct PeerRequest {
  std::string_view method;  // a literal
  std::string target;
  std::string host;    // what the client wrote as Host
  std::string client;  // its address
  std::vector<http::OutHeader> headers;
  std::string body;
};

class PeerListener {
 public:
  virtual void on_peer_head(const http::ResponseInfo& info) = 0;
  virtual void on_peer_body(std::string_view bytes) = 0;
  // One of these is the last. `why` goes on from the peer's name.
  virtual void on_peer_complete() = 0;
  virtual void on_peer_failed(const std::string& why) = 0;
  // The same, and the peer has seen nothing of the request.
  virtual void on_peer_unreached(const std::string& why) = 0;

 protected:
  ~PeerListener() = default;
};

// A request on its way. Destroying it gives up; its owner frees it at the end of the turn.
class PeerCall {
 public:
  virtual ~PeerCall() = default;
  // The client reads slowly: no more of the answer for now.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

class PeerApi {
 public:
  virtual ~PeerApi() = default;
  virtual bool knows(const std::string& peer) const = 0;
  virtual std::vector<std::string> names() const = 0;
  // The peer whose replica_tag() this is; empty: none.
  virtual std::string tagged(const std::string& tag) const = 0;
  // `peer` must be known. Nothing is called from inside. This must outlive the call.
  virtual std::unique_ptr<PeerCall> pass(const std::string& peer, PeerRequest request,
                                         PeerListener& listener) = 0;
};

}  // namespace lineward::core

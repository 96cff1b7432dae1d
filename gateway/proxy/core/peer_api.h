// The interface to other replicas: passes a whole HTTP request and streams the response back
// (docs/replicas.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/response_parser.h"
#include "protocol/http/writer.h"

namespace lineward::core {

struct PeerRequest {
  std::string_view method;  // a literal
  std::string target;
  std::string host;    // the client's Host header
  std::string client;  // the client's address
  std::vector<http::OutHeader> headers;
  std::string body;
};

class PeerListener {
 public:
  virtual void on_peer_head(const http::ResponseInfo& info) = 0;
  virtual void on_peer_body(std::string_view bytes) = 0;
  // Exactly one of the three callbacks below is the last. `why` continues a sentence that starts with the
  // peer's name.
  virtual void on_peer_complete() = 0;
  virtual void on_peer_failed(const std::string& why) = 0;
  // As on_peer_failed(); the peer has received nothing of the request.
  virtual void on_peer_unreached(const std::string& why) = 0;

 protected:
  ~PeerListener() = default;
};

// A request in progress. Destroying it aborts it; its owner frees it at the end of the turn.
class PeerCall {
 public:
  virtual ~PeerCall() = default;
  // Pauses the response: the client reads slowly.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

class PeerApi {
 public:
  virtual ~PeerApi() = default;
  virtual bool knows(const std::string& peer) const = 0;
  virtual std::vector<std::string> names() const = 0;
  // The peer with this replica_tag(); empty: none.
  virtual std::string tagged(const std::string& tag) const = 0;
  // `peer` must be known. The listener is never called before this returns. The PeerApi must outlive the
  // call.
  virtual std::unique_ptr<PeerCall> pass(const std::string& peer, PeerRequest request,
                                         PeerListener& listener) = 0;
};

}  // namespace lineward::core

// A GET or DELETE that a server without sessions answers itself (proxy/core/plain_hop.h): an event stream as
// it arrives, any other answer in one piece. When the client disconnects, the server's connection is closed.
//
// Owned by the SessionEndpoint, which retires it at the end of the turn in which it ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proxy/client/replica/passed_reply.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/plain_hop.h"

namespace lineward::client {

class PassThroughRequest final : public core::HopListener {
 public:
  using Over = std::function<void(PassThroughRequest& pass)>;
  // `over` is called once, never from inside the constructor or begin().
  PassThroughRequest(net::Loop& loop, std::unique_ptr<PassedReply> reply, Over over);
  ~PassThroughRequest();
  PassThroughRequest(const PassThroughRequest&) = delete;
  PassThroughRequest& operator=(const PassThroughRequest&) = delete;

  // False: the server does not support plain requests.
  bool begin(core::ExchangeApi& exchanges, const std::string& server, core::HopRequest request);
  // The gateway stops: a stream ends now, an unanswered request is refused.
  void drain();
  // Ends without an answer: the connection is free for another one.
  void give_up();

 private:
  void on_hop_head(int status, std::string type, core::HeaderFields headers) override;
  void on_hop_body(std::string_view bytes) override;
  void on_hop_end(const std::string& why) override;
  void hold_back();
  void finish();

  net::Loop& loop_;
  std::unique_ptr<PassedReply> reply_;
  std::unique_ptr<core::Hop> hop_;
  Over over_;
  int status_ = 0;
  std::string type_;
  std::vector<http::OutHeader> headers_;
  bool streams_ = false;
  std::string body_;
  bool paused_ = false;
};

}  // namespace lineward::client

// The stream of a session over HTTP+SSE (2024-11-05 transports, "HTTP with SSE"). It opens first, names the
// endpoint for POSTs and carries all messages of the server. The session ends with it.
//
// Owned by an HttpSession, which is its owner; unused for Streamable HTTP.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

class HttpCall;
class SessionCredentials;

class SseTransportCallbacks {
 public:
  virtual Headers headers(HttpVerb verb) const = 0;
  virtual SessionCredentials& credentials() = 0;
  // As ServerStreamCallbacks's.
  virtual void hear(mcp::Message message, HttpCall* call) = 0;
  virtual void refuse_malformed(const mcp::MessageFault& fault) = 0;
  // The endpoint is known.
  virtual void on_sse_connected() = 0;
  // There will be no endpoint: see `fault`.
  virtual void on_sse_failed(const MessagesEnd& end) = 0;
  // The open stream has ended.
  virtual void on_sse_ended() = 0;

 protected:
  ~SseTransportCallbacks() = default;
};

class SseTransport final : public MessagesCallbacks {
 public:
  SseTransport(HttpPool& pool, const config::Server& server, SseTransportCallbacks& owner);
  ~SseTransport();
  SseTransport(const SseTransport&) = delete;
  SseTransport& operator=(const SseTransport&) = delete;

  // Opens the stream, within timeouts.startup. Never calls back before it returns.
  void connect();
  // The target of POSTs; empty until known.
  const std::string& endpoint() const { return endpoint_; }
  // The session is over.
  void close();

 private:
  void on_messages_open(HttpMessages& from, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override {
    owner_.refuse_malformed(fault);
  }
  void on_other_event(HttpMessages& from, const http::SseEvent& event) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;
  void fail(core::Failure fault);
  void fail(const MessagesEnd& end);

  net::Loop& loop_;
  HttpPool& pool_;
  const config::Server& server_;
  SseTransportCallbacks& owner_;
  StreamPlace place_;
  std::unique_ptr<HttpMessages> messages_;
  std::string endpoint_;
  bool connecting_ = false;
  net::Timer timer_;  // limit for connecting
};

}  // namespace lineward::upstream

// An HTTP request that carries MCP, and its response as MCP messages: a JSON body, or server-sent events
// (2026-07-28 and 2025-11-25 streamable HTTP). Rejects non-MCP responses; knows neither eras nor ids.
//
// Owned by a call, a sub-request or a session. The owner may close() it in any callback, and frees it at the
// end of the turn.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "foundation/base/memory_charge.h"
#include "foundation/base/pooled.h"
#include "protocol/http/sse_parser.h"
#include "protocol/mcp/message.h"
#include "proxy/core/headers.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/flood.h"

namespace lineward::upstream {

// A server that sends `retry: 0` gets ten requests a second at most.
inline constexpr std::chrono::milliseconds kLeastRetry{100};

// The status of a POST that is answered on another stream of its session.
inline constexpr int kAccepted = 202;

// After a cancel notification the call's stream is closed at most this much later (behaviour.md 3).
inline constexpr std::chrono::milliseconds kCancelThenClose{100};

// How a response ended.
struct MessagesEnd {
  enum class Kind : uint8_t {
    complete,  // in order, with status 2xx
    refused,   // another status; an MCP error in its body was passed on before
    failed     // broken, or not MCP
  };
  Kind kind = Kind::complete;
  int status = 0;       // 0: no response
  core::Failure fault;  // for `refused` and `failed`
  bool is_stream = false;
  std::string dropped;           // why the last non-MCP event or array element was dropped
  bool flooded = false;          // for `failed`: the server sent too much that is of no use to any client
  bool held_back = false;        // for `failed`: its request waited in Lineward to the end of its time
  bool no_such_method = false;   // for `refused`: its body is a JSON-RPC error −32601
  core::HeaderFields challenge;  // for 401, 403 and 429: WWW-Authenticate, Retry-After
};

class HttpMessages;

class MessagesCallbacks {
 public:
  virtual void on_messages_sent(HttpMessages&) {}  // as HttpTransferCallbacks's
  virtual void on_messages_drained(HttpMessages&) {}
  virtual void on_messages_open(HttpMessages&, const http::ResponseInfo&) {}
  virtual void on_message(HttpMessages& from, mcp::Message&& message) = 0;
  // An invalid request, for instance with params that are no object. Already counted and logged.
  virtual void on_malformed_request(HttpMessages&, const mcp::MessageFault&) {}
  // Not a message at all. Already counted and logged; the stream continues.
  virtual void on_no_message(HttpMessages&, const mcp::MessageFault&) {}
  // An event of a type other than "message".
  virtual void on_other_event(HttpMessages&, const http::SseEvent&) {}
  virtual void on_messages_end(HttpMessages& from, const MessagesEnd& end) = 0;  // the last

 protected:
  ~MessagesCallbacks() = default;
};

class HttpMessages final : public HttpTransferCallbacks, public Pooled<HttpMessages> {
 public:
  HttpMessages(HttpPool& pool, HttpRequest&& request, uint64_t max_message_bytes, MessagesCallbacks& owner);
  ~HttpMessages() { close(); }
  HttpMessages(const HttpMessages&) = delete;
  HttpMessages& operator=(const HttpMessages&) = delete;

  void close();
  void set_owner(MessagesCallbacks& owner) { owner_ = &owner; }
  // The owner needs nothing more; the rest may still be read, so that the connection can be reused.
  void finish_quietly();
  // The response may belong to another request: see HttpTransfer.
  void distrust() {
    if (transfer_) transfer_->distrust();
  }
  void pause() {
    if (transfer_) transfer_->pause();
  }
  void resume() {
    if (transfer_) transfer_->resume();
  }
  bool is_held_back() const { return transfer_ != nullptr && transfer_->is_held_back(); }
  bool sent() const { return transfer_ != nullptr && transfer_->sent(); }
  int status() const { return status_; }
  bool is_stream() const { return sse_ != nullptr; }
  // An invalid message that contains this id and was meant as its answer.
  static bool is_broken_answer(const mcp::MessageFault& fault, int64_t id);
  bool receipt_only() const { return receipt_only_; }
  // The last event id of the stream, for a reconnect.
  std::string last_event_id() const { return sse_ ? sse_->last_event_id() : std::string(); }
  std::optional<std::chrono::milliseconds> retry() const { return sse_ ? sse_->retry() : std::nullopt; }

 private:
  void on_transfer_sent() override { owner_->on_messages_sent(*this); }
  void on_transfer_drained() override { owner_->on_messages_drained(*this); }
  void on_transfer_head(const http::ResponseInfo& info) override;
  void on_transfer_body(std::string_view bytes) override;
  void on_transfer_complete() override;
  void on_transfer_failed(const core::Failure& fault) override;
  void read_events();
  void count_useless(uint64_t events);
  // Passes on the message, or those in the array. Returns the fault if it is neither.
  std::optional<mcp::MessageFault> read(json::Text text);
  void drop(const mcp::MessageFault& fault);
  void refused();
  std::string server_words(const std::optional<mcp::Message>& answer) const;
  void end(MessagesEnd end);
  void fail(mcp::EndReason reason, std::string text);

  HttpPool& pool_;
  uint64_t max_message_bytes_;
  MessagesCallbacks* owner_;
  std::unique_ptr<HttpTransfer> transfer_;
  std::unique_ptr<http::SseParser> sse_;
  uint64_t announced_ = 0;         // bytes of the body, if its head says so
  std::string body_;               // for a refusal that is not JSON: its beginning
  json::ArrivingOutline outline_;  // for a JSON body
  MemoryCharge held_{Held::bodies};
  std::string location_;  // of a redirect
  int status_ = 0;
  core::HeaderFields challenge_;
  std::string dropped_;
  LineFlood flood_;  // of its event stream
  uint64_t empty_lines_ = 0;
  bool json_ = false;
  bool html_ = false;
  bool words_ = false;  // a refusal with a text
  bool receipt_only_ = false;
};

}  // namespace lineward::upstream

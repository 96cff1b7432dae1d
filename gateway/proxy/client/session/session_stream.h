// A stream of a legacy session that can outlive its connection. Its events have ids and are kept, bounded, so
// that a client can resume it after losing the connection (2025-11-25 transports, "Resumability and
// Redelivery").
//
// Owned by its Session. A POST's stream belongs to one exchange, which holds a SessionReply. A GET's stream
// serves no exchange, and lives as long as its Session keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/client/http/http_reply.h"
#include "proxy/core/reply_stream.h"

namespace lineward::client {

class SessionStream;

// The resume buffers of all streams of one session.
struct EventStore {
  MemoryCharge held{Held::events};
  // Called after each addition: over the limit, it must drop events.
  std::function<void(SessionStream& by)> trim;
};

class SessionStream {
 public:
  // The connection is lost for good: it cannot be resumed, or was not resumed in time.
  using ClientLeft = std::function<void(mcp::EndReason why)>;
  // Over: the stream cannot be resumed any more; the owner may remove it (at the end of the turn). Lingers:
  // the stream has ended and stays a while, for a client that lost its end; may be called more than once.
  using Over = std::function<void(uint32_t number)>;
  using Lingers = std::function<void(uint32_t number)>;

  // `place`: a reference to its session's place, used only while the session exists.
  SessionStream(net::Loop& loop, uint32_t number, const std::string& place, std::shared_ptr<EventStore> store,
                std::chrono::milliseconds window, ClientLeft client_left, Over over, Lingers lingers);
  ~SessionStream();

  uint32_t number() const { return number_; }
  // The id that stands for "before the first event".
  std::string prime_id() const { return event_id(0); }
  void attach(std::unique_ptr<HttpReply> transport) { transport_ = std::move(transport); }
  // Must be called by HttpReply's `client_left`.
  void client_left(mcp::EndReason why);
  // Resumes after event `after` on a new connection. False when that is not possible.
  bool can_resume(uint64_t after) const;
  void resume(uint64_t after, std::unique_ptr<HttpReply> transport);

  // False when the message cannot reach the client on this stream, not even by a resume.
  bool send(std::string message);
  void finish(std::string message, int status);
  void add_headers(const core::HeaderFields& fields) {
    if (transport_) transport_->add_headers(fields);
  }
  // Its only answer will not come: the stream cannot be resumed.
  void finish_empty();
  // No more messages follow; sent events can still be resumed.
  void finish_behind_sent();
  void cut();
  bool attached() const { return transport_ != nullptr && transport_->can_send(); }
  // Attached, or still resumable.
  bool can_send() const { return !finished_ && (transport_ ? transport_->can_send() : ids_sent_); }
  std::optional<mcp::EndReason> lost() const { return transport_ ? transport_->lost() : std::nullopt; }
  bool finished() const { return finished_; }
  size_t events() const { return events_.size(); }
  // Clients that have not read this event can no longer resume.
  void forget_oldest();
  bool above_high_watermark() { return transport_ != nullptr && transport_->above_high_watermark(); }
  void when_drained(std::function<void()> drained);
  // On all its connections.
  uint64_t bytes_out() const { return bytes_before_ + (transport_ ? transport_->bytes_out() : 0); }
  // Its exchange is gone: a stream without an orderly end is cut.
  void abandon();
  // The exchange of a POST's stream, for the gone callback.
  core::ExchangeId exchange() const { return exchange_; }
  void set_exchange(core::ExchangeId id) { exchange_ = id; }
  void on_client_left(ClientLeft client_left) { client_left_ = std::move(client_left); }

 private:
  struct Event {
    uint64_t number;
    std::string message;
  };
  std::string event_id(uint64_t event) const;
  uint64_t keep(const std::string& message);
  void forget_all();
  void end_transport();
  // Calls the drained callback: no byte is pending, or none that counts.
  void drain_told();
  void linger();

  net::Loop& loop_;
  const uint32_t number_;
  const std::string& place_;
  const std::shared_ptr<EventStore> store_;
  const std::chrono::milliseconds window_length_;
  ClientLeft client_left_;
  Over over_;
  Lingers lingers_;
  std::function<void()> drained_;
  std::unique_ptr<HttpReply> transport_;
  net::Timer window_;
  std::list<Event> events_;  // most streams never have one: an empty list owns no memory
  size_t bytes_ = 0;
  uint64_t bytes_before_ = 0;  // sent on earlier connections
  uint64_t last_event_ = 0;
  core::ExchangeId exchange_;
  bool ids_sent_ = false;
  bool finished_ = false;
};

}  // namespace lineward::client

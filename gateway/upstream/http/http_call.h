// One client request on its way to an HTTP server. Owned by its caller (an exchange); the upstream's queues
// and tables hold plain pointers, which the call removes when it dies. It owns its POST and the response it
// reads; what either brings it gives to its host, which outlives it while it is alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/intrusive_list.h"
#include "base/pooled.h"
#include "http_client/stream_places.h"
#include "upstream/http/http_messages.h"
#include "upstream/shared/transport_call.h"

namespace lineward::upstream {

class HttpCall;
class HttpHealth;

// What a call needs of those who send it and hear of it.
class HttpCallHost {
 public:
  virtual net::Loop& loop() = 0;
  virtual const config::Server& server() const = 0;
  virtual HttpHealth& health() = 0;
  // Its caller waits no more.
  virtual void withdraw(HttpCall& call, std::string_view why) = 0;
  // Its caller's answer to what the server asked.
  virtual void reply(HttpCall& call, std::string message) = 0;
  // It waits for its client, and takes no place in flight; or no more.
  virtual void park(HttpCall& call) = 0;
  virtual void unpark(HttpCall& call) = 0;
  // Its client came back with a retry, which is its request now.
  virtual void retried(HttpCall& call) = 0;
  virtual std::string server_info(const HttpCall& call) = 0;
  virtual bool has_session(const HttpCall& call) = 0;
  // What its response brings. Ended: `messages` is null.
  virtual void call_opened(HttpCall& call, HttpMessages& from, const http::ResponseInfo& info) = 0;
  virtual void call_message(HttpCall& call, HttpMessages& from, mcp::Message&& message) = 0;
  virtual void call_malformed(HttpCall& call, const mcp::MessageFault& fault) = 0;
  virtual void call_ended(HttpCall& call, const MessagesEnd& end) = 0;

 protected:
  ~HttpCallHost() = default;
};

class HttpCall final : public TransportCall, public MessagesOwner, public Pooled<HttpCall> {
 public:
  HttpCall(HttpCallHost& host, core::CallRequest&& what, core::CallOwner& owner);
  ~HttpCall() override;

  void cancel(core::CancelCause why) override;
  void reply(std::string message) override;
  bool pause() override;
  bool resume() override;
  void hand_over(core::CallOwner& owner, core::Handover how) override;
  void retried(mcp::Message message) override;
  std::string server_info() const override;
  bool has_session() const override;

  // From here on for its host, and those it waits at.
  std::string family;                      // of a listen: the name of its group's family
  std::unique_ptr<HttpMessages> messages;  // while something is under way
  bool sent = false;                       // the server may know of it
  std::chrono::milliseconds written_at{0};
  uint64_t in_session = 0;  // the session of its group that it was sent in, where that has an id
  bool repeated = false;    // was sent again after its session was lost
  // What the server said to it, while a ping shows whether the session is lost (lost_calls.h).
  struct Doubt {
    core::Failure failure;
    std::optional<mcp::Message> answer;  // in place of the failure
    bool accepted = false;               // it may have been carried out
  };
  std::optional<Doubt> doubt;
  // Of an `initialize` whose own revision was refused: the one that it is tried with.
  std::string revision;
  // An `initialize` that Streamable HTTP refused, while HTTP+SSE is tried: what its client gets when that
  // fails too.
  std::optional<core::Failure> refused;
  std::optional<mcp::Message> refusal;
  std::optional<StreamPlace> stream_place;  // of a listen at a modern server, from when it was sent first
  bool parked = false;                      // takes no place in flight
  bool health_probe = false;                // shows whether the server is back (http_health.h)
  uint32_t failures = 0;                    // in a row: of resuming, or of listening again
  Backoff backoff;                          // before listening again
  std::string last_event_id;                // of a legacy stream
  std::chrono::milliseconds retry{1000};
  net::Timer timer;                         // before resuming or listening again
  IntrusiveList<HttpCall>* list = nullptr;  // base/intrusive_list.h
  HttpCall* previous = nullptr;
  HttpCall* next = nullptr;
  bool counts() const { return !is_listen() && !parked; }

  // The last message, or the failure: the call is over.
  void answer(mcp::Message&& message);
  void fail(const core::Failure& failure) override;
  // It is parked, and another caller needs its session: its server is told, and so is its owner.
  void end_parked(const core::Failure& failure);

 private:
  void on_messages_sent(HttpMessages&) override;
  void on_messages_open(HttpMessages&, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;

  HttpCallHost& host_;
};

}  // namespace lineward::upstream

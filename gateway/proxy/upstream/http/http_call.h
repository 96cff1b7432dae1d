// A client request to an HTTP server. Owned by its caller (an exchange). The upstream's queues and tables
// hold plain pointers, which the call removes when it is destroyed. It owns its POST and the response, and
// passes events to the table of calls, which outlives a live call.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/base/intrusive_list.h"
#include "foundation/base/pooled.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http/http_parts.h"
#include "proxy/upstream/http/origin.h"
#include "proxy/upstream/http_client/stream_limiter.h"
#include "proxy/upstream/shared/transport_call.h"

namespace lineward::upstream {

class HttpCall final : public TransportCall, public MessagesCallbacks, public Pooled<HttpCall> {
 public:
  HttpCall(const HttpParts& parts, core::UpstreamRequest&& what, core::CallCallbacks& owner);
  ~HttpCall() override;

  void cancel(core::CancelCause why) override;
  void reply(std::string message) override;
  bool hold(bool on) override;
  void hand_over(core::CallCallbacks& owner, core::Handover how) override;
  void retried(mcp::Message message) override;
  core::CallFacts call_facts() const override;

  // The following is for the table and the queues it waits in.
  OriginUse origin;                        // while it is sent
  uint64_t tried = 0;                      // origins that it could not be sent to (Origin::bit)
  std::string family;                      // for a listen: the name of its group's family
  std::unique_ptr<HttpMessages> messages;  // while a request is in progress
  bool sent = false;                       // the server may have received it
  std::chrono::milliseconds written_at{0};
  uint64_t in_session = 0;  // number of the group's session it was sent in, if that has an id
  bool repeated = false;    // was sent again after its session was lost
  // The server's reply, while a ping checks whether the session is lost (http_call_table.cc).
  struct Doubt {
    core::Failure failure;
    std::optional<mcp::Message> answer;  // instead of the failure
    bool accepted = false;               // the server may have executed it
  };
  std::optional<Doubt> doubt;
  // For an `initialize` refused for its revision: the revision of the second attempt.
  std::string revision;
  // For an `initialize` that Streamable HTTP refused, while HTTP+SSE is tried: the client's answer if that
  // fails too.
  std::optional<core::Failure> refused;
  std::optional<mcp::Message> refusal;
  std::optional<StreamPlace> stream_place;  // for a listen at a modern server, from its first sending
  bool parked = false;                      // does not count as in flight
  bool health_probe = false;                // shows whether the server is back (http_health.h)
  uint32_t failures = 0;                    // in a row: of resuming
  std::string last_event_id;                // of a legacy stream
  std::chrono::milliseconds retry{1000};
  net::Timer timer;                         // before resuming
  IntrusiveList<HttpCall>* list = nullptr;  // foundation/base/intrusive_list.h
  HttpCall* previous = nullptr;
  HttpCall* next = nullptr;
  bool counts() const { return !is_listen() && !parked; }

  // The final message, or the failure: the call is over.
  void answer(mcp::Message&& message);
  void fail(const core::Failure& failure) override;
  // An open listen is lost: that says nothing about the server's health.
  void lose(const core::Failure& failure);
  // The call is parked, and another caller needs its session: the server and the owner are notified.
  void end_parked(const core::Failure& failure);

 private:
  void on_messages_sent(HttpMessages&) override;
  void on_messages_open(HttpMessages&, const http::ResponseInfo& info) override;
  void on_message(HttpMessages& from, mcp::Message&& message) override;
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override;
  void on_messages_end(HttpMessages& from, const MessagesEnd& end) override;

  void note_timeout(mcp::EndReason reason);

  const HttpParts& parts_;
  bool is_held_ = false;  // the owner reads no more of its stream, or of those that continue it
};

}  // namespace lineward::upstream

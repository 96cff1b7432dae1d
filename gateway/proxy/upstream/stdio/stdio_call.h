// A client request to a stdio server. Owned by its caller (an exchange). The upstream's queue and the
// instance's table hold plain pointers, which the call removes when it is destroyed.
#pragma once

#include <chrono>

#include "foundation/base/pooled.h"
#include "proxy/upstream/shared/transport_call.h"

namespace lineward::upstream {

class StdioInstance;
class StdioUpstream;

// The outcome of a request for one more process.
enum class Room : uint8_t {
  there,
  none,      // the limit is reached
  no_share,  // the free places are reserved for other callers
};

class StdioCall final : public TransportCall, public Pooled<StdioCall> {
 public:
  StdioCall(StdioUpstream& upstream, core::UpstreamRequest&& what, core::CallCallbacks& owner);
  ~StdioCall() override;

  void cancel(core::CancelCause why) override;
  void reply(std::string message) override;
  void hand_over(core::CallCallbacks& owner, core::Handover how) override;
  void retried(mcp::Message message) override;
  core::CallFacts call_facts() const override;

  // The following is for the upstream and its instances.
  StdioInstance* instance = nullptr;     // once written
  std::chrono::milliseconds sent_at{0};  // likewise
  mcp::Era instance_era = mcp::Era::modern;
  bool era_doubted = false;      // it has waited a second time for its server's era
  Room room = Room::there;       // for a process, when its group looked for one
  bool half_open_probe = false;  // its answer shows whether the server is back (circuit_breaker.h)
  // A modern client's call on a legacy server.
  bool crosses_eras() const {
    return request.client_era == mcp::Era::modern && instance_era == mcp::Era::legacy;
  }

  void message(mcp::Message message) override;  // not the final one
  // The final message, or the failure: the call is over.
  void answer(mcp::Message&& message);
  void fail(const core::Failure& failure) override;
  // The call is parked, and another caller needs its process: the server and the owner are notified.
  void end_parked(const core::Failure& failure);

 private:
  void give_place() override;
  void count(bool now);

  StdioUpstream& upstream_;
  bool counted_ = false;  // in the upstream's count: neither parked nor over
};

}  // namespace lineward::upstream

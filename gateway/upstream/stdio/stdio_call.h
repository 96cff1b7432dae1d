// One client request on its way to a stdio server. Owned by its caller (an exchange); the upstream's queue
// and the instance's table hold plain pointers, which the call removes when it dies.
#pragma once

#include <chrono>

#include "base/pooled.h"
#include "upstream/shared/transport_call.h"

namespace lineward::upstream {

class StdioInstance;
class StdioUpstream;

class StdioCall final : public TransportCall, public Pooled<StdioCall> {
 public:
  StdioCall(StdioUpstream& upstream, core::CallRequest&& what, core::CallOwner& owner);
  ~StdioCall() override;

  void cancel(core::CancelCause why) override;
  void reply(std::string message) override;
  void hand_over(core::CallOwner& owner, core::Handover how) override;
  void retried(mcp::Message message) override;
  std::string server_info() const override;

  // From here on for the upstream and its instances.
  StdioInstance* instance = nullptr;     // once written
  std::chrono::milliseconds sent_at{0};  // likewise
  mcp::Era instance_era = mcp::Era::modern;
  bool era_doubted = false;      // it has waited for its server's era a second time
  bool half_open_probe = false;  // whether the server is back (circuit_breaker.h)
  // A modern client's call on a legacy server.
  bool crosses_eras() const {
    return request.client_era == mcp::Era::modern && instance_era == mcp::Era::legacy;
  }

  void message(mcp::Message message) override;  // not the last
  // The last message, or the failure: the call is over.
  void answer(mcp::Message&& message);
  void fail(const core::Failure& failure) override;
  // It is parked, and another caller needs its process: its server is told, and so is its owner.
  void end_parked(const core::Failure& failure);

 private:
  void give_place() override;
  void count(bool now);

  StdioUpstream& upstream_;
  bool counted_ = false;  // among those of its upstream: neither parked nor over
};

}  // namespace lineward::upstream

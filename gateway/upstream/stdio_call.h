// One client request on its way to a stdio server. Owned by its caller (an exchange); the upstream's queue
// and the instance's table hold plain pointers, which the call removes when it dies.
#pragma once

#include <cstdint>
#include <memory>

#include "base/pooled.h"
#include "core/owned_call.h"
#include "upstream/caller_shares.h"
#include "upstream/legacy_listens.h"
#include "upstream/open_questions.h"

namespace lineward::upstream {

class StdioInstance;
class StdioUpstream;

class StdioCall final : public core::OwnedCall, public ListenCall, public Pooled<StdioCall> {
 public:
  StdioCall(StdioUpstream& upstream, core::CallRequest&& what, core::CallOwner& owner);
  ~StdioCall() override;

  void cancel(std::string_view why) override;
  void reply(std::string message) override;
  void hand_over(core::CallOwner& owner, core::Handover how) override;
  const mcp::Message& request_message() const override { return request.message; }
  void retried(mcp::Message message) override;
  std::string server_info() const override;

  // From here on for the upstream and its instances.
  core::CallRequest request;
  std::string group;                  // key of the group whose queue it waits in
  StdioInstance* instance = nullptr;  // once written
  int64_t id = 0;                     // the id the server knows
  mcp::Era instance_era = mcp::Era::modern;
  OpenQuestions open_questions;
  CallerShares::Place place;  // of its caller; a listen has none
  bool acknowledged = false;  // a listen: its client knows that it is open
  bool trial = false;         // whether the server is back (circuit_breaker.h)
  // A modern client's call on a legacy server.
  bool crosses_eras() const {
    return request.client_era == mcp::Era::modern && instance_era == mcp::Era::legacy;
  }
  bool is_listen() const { return request.method == mcp::Method::subscriptions_listen; }

  const mcp::Message& listen_request() const override { return request.message; }
  void phase(core::CallPhase phase) override;
  void message(mcp::Message message) override;  // not the last
  // The last message, or the failure: the call is over.
  void answer(mcp::Message message);
  void fail(const core::Failure& failure) override;

 private:
  StdioUpstream& upstream_;
  core::CallPhase phase_ = core::CallPhase::queued;
  bool phase_told_ = false;
  bool parked_ = false;
};

}  // namespace lineward::upstream

// A request that was answered from the memory of an earlier life. It is sent to the server too, which it
// starts. The server's answer shows whether the memory is right (docs/quick-starts.md).
//
// Owned by a RememberingUpstream, which retires it when it is over.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "foundation/process/start_line.h"
#include "proxy/core/upstream.h"

namespace lineward::upstream {

class AnswerCheck final : public core::CallCallbacks {
 public:
  using Done = std::function<void(AnswerCheck& check, Result<mcp::Message, core::Failure> answer)>;
  struct Plan {
    std::string id;                   // among the checks of its server
    std::string key;                  // of the answer
    std::string given;                // a digest of what the client was answered
    std::vector<std::string> groups;  // that may get it (CallerGroup::key)
  };
  // `done` is called once from the loop, unless cancel() or the destructor comes first.
  AnswerCheck(net::Loop& loop, const config::Server& server, core::Upstream& inner, Plan plan,
              core::UpstreamRequest request, Done done);
  ~AnswerCheck();
  AnswerCheck(const AnswerCheck&) = delete;
  AnswerCheck& operator=(const AnswerCheck&) = delete;

  // Sends it now, or with its turn among the starts that no call waits for. A failure: `done` is not called.
  std::optional<core::Failure> begin();
  void begin_in_turn(process::StartLine& line);
  // The same after a pause, or when hurry() is called.
  void begin_later(process::StartLine& line, std::chrono::milliseconds pause);
  void hurry();
  // Without a turn: a call that may change what the server lists is about to be sent.
  void begin_now();
  // A further client was answered.
  void also_given(const std::string& digest) { differs_ = differs_ || digest != plan_.given; }
  // Whether a client was given anything else than this.
  bool differs_from(const std::string& digest) const { return differs_ || digest != plan_.given; }
  void cancel(std::string_view why);

  const Plan& plan() const { return plan_; }
  mcp::Method method() const { return method_; }
  const core::Scope& scope() const { return scope_; }

 private:
  void begin_or_fail();
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  void finish(Result<mcp::Message, core::Failure> answer);

  net::Loop& loop_;
  const config::Server& server_;
  core::Upstream& inner_;
  const Plan plan_;
  const mcp::Method method_;
  const core::Scope scope_;
  core::UpstreamRequest request_;  // until it is sent
  MemoryCharge held_{Held::calls};
  Done done_;
  bool differs_ = false;
  std::unique_ptr<core::Call> call_;
  process::StartLine::Turn turn_;
  net::Timer turn_timer_{loop_};
  process::StartLine* awaited_line_ = nullptr;  // during the pause
  net::Timer pause_{loop_};
  net::Timer limit_{loop_};
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

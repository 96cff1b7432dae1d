// A request to one server of an aggregate, with the plugins that judge it. Gives them their view of it, and
// holds messages that wait for their verdicts. An exchange's plugin chain lives as long as the exchange; this
// one lives as long as the server's call. A call that waits for its client's answers keeps its plugins, and
// the client's retry is the same call to them. Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "foundation/net/loop.h"
#include "proxy/core/mirrors.h"
#include "proxy/core/owned_call.h"
#include "proxy/plugin/hook_chain.h"
#include "proxy/plugin/hook_queue.h"

namespace lineward::plugin {

class GuardedCall final : public core::PassingCall, ExchangeView, HookQueue::Owner {
 public:
  GuardedCall(net::Loop& loop, core::Upstream& inner, std::shared_ptr<PluginSet> plugins,
              core::UpstreamRequest request);
  ~GuardedCall() override;

  // False: no plugin handles it; then the request proceeds without this object.
  bool attach() { return chain_.attach(*this, upstream_.name(), ServerRole::member); }
  core::UpstreamRequest take_request() { return std::move(request_); }
  void begin(core::CallCallbacks& owner);  // never calls back synchronously

  // core::Call
  void cancel(core::CancelCause why) override;
  void reply(std::string message) override;
  bool hold(bool on) override;
  void hand_over(core::CallCallbacks& owner, core::Handover how) override;
  void retried(mcp::Message request) override;
  core::CallFacts call_facts() const override {
    core::CallFacts facts = PassingCall::call_facts();
    facts.has_answer = live() && queue_.has_last();
    facts.is_from_server = !answer_ && facts.is_from_server;
    return facts;
  }

 private:
  // core::CallCallbacks, of the server's call
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override {
    if (live()) queue_.take(std::move(message));
  }
  void on_call_failed(const core::Failure& failure) override;
  void on_call_repeated() override {
    ++attempts_;
    PassingCall::on_call_repeated();
  }

  // ExchangeView
  RequestInfo facts() const override;
  std::string_view header(std::string_view name) const override;
  void set_upstream_header(std::string_view name, std::string value) override;
  void add_reply_header(std::string_view name, std::string value) override;
  void refuse(core::PolicyError refusal) override;
  void answer(std::string result) override;
  void resume(Verdict verdict) override { chain_.resume(verdict); }

  // HookQueue::Owner
  bool over() const override { return !live(); }
  void pause_server() override;
  void resume_server() override;
  void passed(mcp::Message message) override;
  void passed(const core::Failure& failure) override;
  bool decided() override;
  void broke(std::string_view what) override;

  bool hold_server();
  void ask();
  void moved();
  void send();
  void finish(mcp::Message message, mcp::EndReason reason, int code);
  void fail(core::Failure failure);
  // Detaches the owner and reports the end to the plugins.
  core::CallCallbacks* leave(mcp::EndReason reason, int code, std::string_view text);

  net::Loop& loop_;
  core::Upstream& upstream_;
  const core::ClientRequestPtr from_;
  const std::string method_, target_, revision_, raw_id_, principal_;
  const size_t bytes_;  // of the original request
  const core::Mirrors mirrors_;
  HookChain chain_;
  HookQueue queue_;
  bool sent_ = false, beginning_ = false;
  bool paused_ = false, holding_ = false;  // by the caller; for a plugin
  std::optional<core::PolicyError> refusal_;
  std::optional<std::string> answer_;
  core::HeaderFields reply_headers_;  // sent with a refusal
  uint64_t begun_at_ = 0;             // nanoseconds
  std::chrono::milliseconds written_at_{-1};
  uint64_t events_ = 0, bytes_out_ = 0;
  uint32_t attempts_ = 1;
  net::Lifetime lifetime_;
};

}  // namespace lineward::plugin

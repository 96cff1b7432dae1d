// The plugins of one exchange: what they see of it, and the messages that wait for their verdicts.
//
// Owned by the exchange; calls into it, and is destroyed with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/core/mirrors.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/exchange.h"
#include "proxy/plugin/hook_chain.h"
#include "proxy/plugin/hook_queue.h"

namespace lineward::exchange {

class ExchangePlugins final : public plugin::ExchangeView, plugin::HookQueue::Owner {
 public:
  // Null if no plugin subscribes.
  static std::unique_ptr<ExchangePlugins> attach(Exchange& exchange,
                                                 const std::shared_ptr<plugin::PluginSet>& set);

  // Passes the request to the plugins before it is routed. False: the exchange ended, or a plugin is
  // undecided; the exchange is resumed after the decision.
  bool pass_request();
  // Takes a message from the server; it is passed on to Exchange::received().
  void from_server(mcp::Message message) { queue_.take(std::move(message)); }
  // The server failed: the failure is passed on after the messages before it. False: no message waits.
  bool holds_back(const core::Failure& failure) { return queue_.holds_back(failure); }
  // A message of the server is held by a plugin, or queued behind one.
  bool has_waiting() const { return queue_.has_waiting(); }
  // So much is queued that reading from the server must pause.
  bool holds_server() const { return queue_.is_holding(); }
  // AskedWith::digest of the request; empty if no state can result from it or comes with it.
  std::string_view asked_with() const { return asked_with_; }
  // Stores the `requestState` sent to the client.
  void comes_back_with(std::string_view request_state) { request_state_ = request_state; }
  void failure_text(std::string& text) { chain_.failure_text(text); }
  void ended(mcp::EndReason reason, int code);
  std::string_view trace_id() const { return trace_id_; }
  std::string_view span_id() const { return span_id_; }
  metrics::TraceName sampled_trace() const {
    return sampled_ == plugin::Sampled::yes ? metrics::TraceName{trace_id_, span_id_} : metrics::TraceName{};
  }
  std::string_view waits_for() const { return chain_.waits_for(); }

  // plugin::ExchangeView
  plugin::RequestInfo facts() const override;
  std::string_view header(std::string_view name) const override;
  void set_upstream_header(std::string_view name, std::string value) override;
  void add_reply_header(std::string_view name, std::string value) override;
  void refuse(core::PolicyError refusal) override;
  void answer(std::string result) override;
  void note_trace(std::string_view trace_id, std::string_view span_id, plugin::Sampled sampled) override {
    trace_id_ = trace_id;
    span_id_ = span_id;
    sampled_ = sampled;
  }
  void resume(plugin::Verdict verdict) override { chain_.resume(verdict); }

 private:
  ExchangePlugins(Exchange& exchange, std::shared_ptr<plugin::PluginSet> set);
  void moved();
  void note_params();
  // Drops the client's headers that repeat a message which a plugin has changed.
  void drop_stale_mirrors();

  // plugin::HookQueue::Owner
  bool over() const override { return exchange_.ended(); }
  void pause_server() override;
  void resume_server() override;
  void passed(mcp::Message message) override;
  void passed(const core::Failure& failure) override;
  bool decided() override;
  void broke(std::string_view what) override;

  Exchange& exchange_;
  plugin::HookChain chain_;
  plugin::HookQueue queue_;
  std::optional<core::PolicyError> refusal_;
  std::optional<std::string> answer_;
  std::string trace_id_, span_id_;
  plugin::Sampled sampled_ = plugin::Sampled::no;
  std::string request_state_;
  std::string asked_with_;
  bool shown_ = false;       // the request was shown to a plugin
  const uint64_t begun_at_;  // in nanoseconds: when its request was read, or soon after
  const core::Mirrors mirrors_;
};

}  // namespace lineward::exchange

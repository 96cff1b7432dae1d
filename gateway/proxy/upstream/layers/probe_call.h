// A `lineward/probe` request: answered at once, or a stream of events with their time, a silence, and the
// result. How a stream ends stands in the ProbeBook.
#pragma once

#include <string>

#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/probe.h"
#include "proxy/core/upstream.h"
#include "proxy/upstream/layers/probe_book.h"

namespace lineward::upstream {

class ProbeCall final : public core::Call {
 public:
  // A stream was begun in the book, which outlives this.
  ProbeCall(net::Loop& loop, core::UpstreamRequest&& request, core::CallCallbacks& owner,
            mcp::ProbeRequest probe, ProbeBook& book, ProbeBook::Caller caller);
  ~ProbeCall() override;

  void cancel(core::CancelCause why) override;
  bool live() const override { return live_; }
  void reply(std::string) override {}
  void hand_over(core::CallCallbacks& owner, core::Handover) override { owner_ = &owner; }
  core::CallFacts call_facts() const override { return {&request_.message}; }
  void retried(mcp::Message) override {}

 private:
  bool is_stream() const { return !probe_.nonce.empty() && !probe_.asks_outcome; }
  void begin();
  void step();
  void finish();
  void over(ProbeOutcome::State state, mcp::EndReason reason);
  std::string result() const;

  const core::UpstreamRequest request_;
  core::CallCallbacks* owner_;
  const mcp::ProbeRequest probe_;
  ProbeBook& book_;
  const ProbeBook::Caller caller_;
  bool live_ = true;
  bool was_silent_ = false;
  uint32_t sent_ = 0;
  net::Timer timer_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

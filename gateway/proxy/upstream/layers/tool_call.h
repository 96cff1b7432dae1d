// A request passing through a ToolUpstream (behaviour.md 11). It is held until its tool's definition is
// known, then sent to the upstream behind, once, or repeatedly where allowed. Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/core/owned_call.h"

namespace lineward::upstream {

class ToolUpstream;
struct ToolFacts;

// Lineward's handling of Mcp-Param-* headers.
enum class HeaderRole : uint8_t {
  none,   // the client and the server handle them, or they are not used
  make,   // the server expects headers that the client does not send
  check,  // the client sends headers that the server does not check
};

class ToolCall final : public core::PassingCall {
 public:
  ToolCall(ToolUpstream& upstream, core::UpstreamRequest request, core::CallCallbacks& owner,
           HeaderRole role);
  ~ToolCall() override;

  // To be called once, from start(). On failure nothing was begun.
  std::optional<core::Failure> begin();

  void cancel(core::CancelCause why) override;

  // Called by ToolUpstream: the list is available, or cannot be obtained (`listed` false).
  void learned(bool listed);
  // The server is unreachable, so there is no list.
  void unreached(const core::Failure& failure);
  // Its permit among the server's calls, while it waits.
  void waits_at(std::unique_ptr<core::WaitingPermit> place) { place_ = std::move(place); }
  bool has_place() const { return place_ != nullptr; }
  // The list is needed for headers only, which legacy servers do not have.
  bool asks_modern_only() const;
  // Reports the phase of the list that the call waits for.
  void listing_phase(core::CallPhase phase);
  const core::UpstreamRequest& request() const { return request_; }
  const std::string& view() const { return view_; }

 private:
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

  std::optional<core::Failure> go();
  // Must its tool be in the server's view? The failure: it is not, or that is not known.
  bool is_judged() const;
  std::optional<core::Failure> judged() const;
  void go_later(std::chrono::milliseconds after);
  // The server's era is not the one assumed: starts over.
  void begin_anew();
  // Reports this attempt to the owner, unless it is the first.
  void tell_attempt(uint32_t attempt);
  std::optional<core::Failure> learn();
  void tell(core::CallPhase phase);
  void answer(mcp::Message message);
  void fail(const core::Failure& failure);
  bool refused_headers(const mcp::Message& message);
  bool repeats(const core::Failure& failure);
  void count_repeat(const core::Failure& failure);
  const ToolFacts* facts() const;
  std::string header_fault() const;
  void retire_inner();

  ToolUpstream& tools_;
  const HeaderRole role_;
  std::string view_;
  std::string tool_;      // of a tools/call, or of a completion that may name one
  uint64_t changes_ = 0;  // of the list of tools, before this request for it
  std::optional<core::CallPhase> told_;
  std::optional<mcp::Message> refusal_;   // −32020, while the list is fetched again
  std::optional<core::Failure> failure_;  // until it is known whether the tool may run again
  uint32_t attempts_ = 0;
  uint32_t attempts_told_ = 1;
  bool heard_ = false;    // the client received a message of it: no more repeats
  bool written_ = false;  // this attempt's bytes were sent
  bool begun_ = false;    // at least one attempt was made, with valid headers
  bool begun_anew_ = false;
  bool relisted_ = false;
  bool judged_again_ = false;
  bool listing_ = false;
  std::unique_ptr<core::WaitingPermit> place_;  // held while it waits; the first waiting call's is with the
                                                // listing
  bool keeps_message_ = false;
  MemoryCharge held_{Held::calls};  // the kept message, beside the one that was sent
  net::Timer timer_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

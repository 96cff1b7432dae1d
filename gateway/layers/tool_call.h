// One request on its way through a ToolUpstream: held until what must be known of its tool is known, then
// made on the upstream behind, once, or again where that is allowed (behaviour.md 11). Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/held_bytes.h"
#include "core/owned_call.h"
#include "net/loop.h"

namespace lineward::upstream {

class ToolUpstream;
struct ToolFacts;

// What Lineward does about Mcp-Param-*.
enum class HeaderRole : uint8_t {
  none,   // client and server see to it themselves, or nobody has to
  make,   // the server wants headers that the client does not make
  check,  // the client makes headers that the server does not check
};

class ToolCall final : public core::PassingCall {
 public:
  ToolCall(ToolUpstream& upstream, core::CallRequest request, core::CallOwner& owner, HeaderRole role);
  ~ToolCall() override;

  // To be called once, from start(). A failure means that nothing was begun.
  std::optional<core::Failure> begin();

  void cancel(core::CancelCause why) override;

  // For ToolUpstream: the list is there, or cannot be had (`listed` false).
  void learned(bool listed);
  // The server cannot be reached, and so there is no list.
  void unreached(const core::Failure& failure);
  // Its place among the calls of the server, while it waits.
  void waits_at(std::unique_ptr<core::WaitingPlace> place) { place_ = std::move(place); }
  bool has_place() const { return place_ != nullptr; }
  // The list is for its headers alone, which servers of the old era know nothing of.
  bool asks_modern_only() const;
  // The call waits for its server's list.
  void listing_phase(core::CallPhase phase);
  const core::CallRequest& request() const { return request_; }
  const std::string& view() const { return view_; }

 private:
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

  std::optional<core::Failure> go();
  void go_later(std::chrono::milliseconds after);
  // Its server is of another era than it was taken for.
  void begin_anew();
  // Its owner hears of this attempt, where it is not the first.
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
  std::string tool_;  // of a tools/call
  std::optional<core::CallPhase> told_;
  std::optional<mcp::Message> refusal_;   // −32020, while the list is fetched anew
  std::optional<core::Failure> failure_;  // while it is asked whether the tool may run again
  uint32_t attempts_ = 0;
  uint32_t attempts_told_ = 1;
  bool heard_ = false;    // the client got a message of it: it is not repeated any more
  bool written_ = false;  // this attempt's bytes went out
  bool begun_ = false;    // one attempt was made at least, with headers that were right then
  bool begun_anew_ = false;
  bool relisted_ = false;
  bool listing_ = false;
  std::unique_ptr<core::WaitingPlace> place_;  // with it, but for the first that waits
  bool keeps_message_ = false;
  HeldBytes held_{Held::calls};  // of that message, beside the one that was sent
  net::Timer timer_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

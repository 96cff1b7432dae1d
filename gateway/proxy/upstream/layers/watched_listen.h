// A client's listen on a server that remembers. Besides the server's notifications it brings the list changes
// that the check of a remembered answer has shown, within the filter that the server granted. Owned by its
// caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "foundation/net/lifetime.h"
#include "protocol/mcp/listen_filter.h"
#include "proxy/core/owned_call.h"

namespace lineward::upstream {

class RememberedChanges;

class WatchedListen final : public core::PassingCall {
 public:
  // The lists that may change, as bits.
  static constexpr uint8_t kTools = 1, kPrompts = 2, kResources = 4;
  // The list that this method reads; 0: none.
  static uint8_t bit_of(mcp::Method method);
  // The notification of one bit.
  static std::optional<mcp::Message> notice_of(uint8_t bit);

  WatchedListen(RememberedChanges& upstream, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~WatchedListen() override;

  // To be called once; a failure: it is refused.
  std::optional<core::Failure> begin();
  const std::string& asker() const { return asker_; }
  // Its client asks for changes of this list.
  bool wants(uint8_t bit) const { return (wanted_ & bit) != 0; }
  // Reported once it is acknowledged.
  void changed(uint8_t bits);

  void cancel(core::CancelCause why) override;
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

 private:
  void tell();
  core::CallCallbacks* leave();

  RememberedChanges& upstream_;
  const std::string asker_;
  uint8_t wanted_ = 0;
  std::optional<mcp::ListenFilter> granted_;  // null: it is not acknowledged
  uint8_t pending_ = 0;
  net::Lifetime lifetime_;
};

// The caller of a scope, or one of its sessions.
std::string asker_of(const core::Scope& scope);

}  // namespace lineward::upstream

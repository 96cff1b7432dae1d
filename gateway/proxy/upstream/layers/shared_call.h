// Calls shared by several callers, and the share of each: common to the listen hub and the result cache.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/listen_filter.h"
#include "proxy/core/owned_call.h"

namespace lineward::upstream {

class SharedCall;

// The share of one caller in a call.
class SharedCallHandle : public core::OwnedCall {
 public:
  // `server` outlives it.
  SharedCallHandle(const config::Server& server, core::UpstreamRequest request, core::CallCallbacks& owner)
      : OwnedCall(&owner), server_(server), request_(std::move(request)) {}
  ~SharedCallHandle() override;

  void cancel(core::CancelCause why) override;
  core::CallFacts call_facts() const override { return {&request_.message}; }

 private:
  friend class SharedCall;
  const config::Server& server_;
  core::UpstreamRequest request_;
  SharedCall* shared_ = nullptr;
  size_t place_ = 0;  // among the leases of shared_
  std::optional<core::CallPhase> told_;
  bool is_first_ = false;                                 // its request is the one sent
  core::Coalesced told_coalesced_ = core::Coalesced::no;  // last reported to its owner
  // The filter in its acknowledgement. Empty: it has none yet; null: all notifications pass.
  std::optional<std::shared_ptr<const mcp::ListenFilter>> granted_;
};

// A call on the server, and the callers that wait for it. It lives while any caller waits; each caller's own
// limits run in its exchange. Its owner retires it when it is over.
class SharedCall : public core::CallCallbacks {
 public:
  // `like`: the first caller's request, which is sent.
  SharedCall(net::Loop& loop, core::Upstream& inner, std::string key, core::UpstreamRequest like);
  virtual ~SharedCall();
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;

  // Empty, or the reason why the call cannot begin. `again`: a listen that was lost.
  std::optional<core::Failure> open(bool again = false);
  void join(SharedCallHandle& lease);
  // Detaches all callers without a callback.
  virtual void close(core::CancelCause why);
  const std::string& key() const { return key_; }
  void rename(std::string key) { key_ = std::move(key); }
  const core::UpstreamRequest& like() const { return like_; }

  // Later callers get it from catch_up().
  void on_call_phase(core::CallPhase phase) override;
  void on_call_repeated() override;
  void on_call_request(core::Coalesced coalesced) override { coalesced_ = coalesced; }

 protected:
  // No caller waits for it any more: its owner releases it, perhaps while it is on the stack.
  virtual void over() = 0;
  // The server's acknowledgement, if any; and its filter.
  virtual const mcp::Message* acknowledgement() const { return nullptr; }
  virtual std::shared_ptr<const mcp::ListenFilter> granted() const { return nullptr; }

  // Passes the answer or the failure to all callers; their leases are over then.
  void tell_end(const mcp::Message& answer);
  void tell_end(const core::Failure& failure);
  // Acknowledges all leases. From now on they receive the notifications of tell() within their filter, and no
  // phases except a reopening.
  void tell_acknowledged(const mcp::Message& acknowledgement);
  // Only for later callers that have no acknowledgement yet.
  void acknowledge_later_ones(const mcp::Message& acknowledgement);
  void tell(const mcp::Message& notification);

  size_t living() const { return living_; }
  // Detaches all callers but the first, without a callback.
  std::vector<SharedCallHandle*> let_go_of_others();
  static const core::UpstreamRequest& request_of(const SharedCallHandle& lease) { return lease.request_; }

  net::Loop& loop_;
  std::unique_ptr<core::Call> call_;

 private:
  friend class SharedCallHandle;
  template <class F>
  void each(F&& visit);
  // True when it was the last lease, and the call is still in progress.
  bool leave(SharedCallHandle& lease);
  // Returns its owner for one last callback, which may destroy the lease: no reference to it remains here.
  // Within each() only.
  core::CallCallbacks* release(SharedCallHandle& lease);
  void catch_up();
  void tell_phase(SharedCallHandle& lease);
  void acknowledge(SharedCallHandle& lease, const mcp::Message& acknowledgement);

  core::Upstream& inner_;
  std::string key_;
  const core::UpstreamRequest like_;
  MemoryCharge like_bytes_{Held::calls};   // `like_`, the copy in flight, and the key
  std::vector<SharedCallHandle*> leases_;  // null: it left during each()
  size_t living_ = 0;
  bool has_first_ = false;
  core::Coalesced coalesced_ = core::Coalesced::no;  // for the first caller's request
  std::optional<core::CallPhase> phase_;
  bool telling_ = false;
  bool closed_ = false;
  net::Deferred catch_up_later_;
};

}  // namespace lineward::upstream

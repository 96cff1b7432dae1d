// Calls that several callers share, and the share of each: what the listen hub and the result cache have in
// common.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/held_bytes.h"
#include "config/config.h"
#include "core/owned_call.h"
#include "mcp/listen_filter.h"
#include "net/loop.h"

namespace lineward::upstream {

class SharedCall;

// One caller's share of a call.
class SharedCallHandle : public core::OwnedCall {
 public:
  // `server` outlives it.
  SharedCallHandle(const config::Server& server, core::CallRequest request, core::CallOwner& owner)
      : OwnedCall(&owner), server_(server), request_(std::move(request)) {}
  ~SharedCallHandle() override;

  void cancel(core::CancelCause why) override;
  const mcp::Message& request_message() const override { return request_.message; }

 private:
  friend class SharedCall;
  const config::Server& server_;
  core::CallRequest request_;
  SharedCall* shared_ = nullptr;
  size_t place_ = 0;  // among the leases of shared_
  std::optional<core::CallPhase> told_;
  bool is_first_ = false;                      // it is this one's request that is sent
  core::Whose told_whose_ = core::Whose::own;  // what its owner knows of that
  bool acknowledged_ = false;
  // What it was told that it hears; null: whatever is told.
  std::shared_ptr<const mcp::ListenFilter> granted_;
};

// One call on the server, and who waits for it. It lives as long as somebody does: each caller's own limits
// run with its exchange. Its owner retires it when it is over.
class SharedCall : public core::CallOwner {
 public:
  // `like`: the first caller's request, which is the one that is sent.
  SharedCall(net::Loop& loop, core::Upstream& inner, std::string key, core::CallRequest like);
  virtual ~SharedCall();
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;

  // Nothing, or why it cannot even be begun.
  std::optional<core::Failure> open();
  void join(SharedCallHandle& lease);
  // Nobody is told anything any more.
  virtual void close(core::CancelCause why);
  const std::string& key() const { return key_; }
  void rename(std::string key) { key_ = std::move(key); }
  const core::CallRequest& like() const { return like_; }

  // Those who came later hear it from catch_up().
  void on_call_phase(core::CallPhase phase) override;
  void on_call_repeated() override;
  void on_call_request(core::Whose whose) override { whose_ = whose; }

 protected:
  // Nobody waits for it any more: its owner lets go of it, which may be on the stack.
  virtual void over() = 0;
  // What the server acknowledged it with, where it did; and that as a filter.
  virtual const mcp::Message* acknowledgement() const { return nullptr; }
  virtual std::shared_ptr<const mcp::ListenFilter> granted() const { return nullptr; }

  // The answer, or why there is none, for everybody; all leases are over then.
  void tell_end(const mcp::Message& answer);
  void tell_end(const core::Failure& failure);
  // From here on they hear what tell() says, as far as they were granted it, and of phases only that it is
  // opened again.
  void tell_acknowledged(const mcp::Message& acknowledgement);
  // Only those who came later, and have not heard of any.
  void acknowledge_later_ones(const mcp::Message& acknowledgement);
  void tell(const mcp::Message& notification);

  size_t living() const { return living_; }
  // All but the one who came first do not wait for it any more, and hear nothing of that.
  std::vector<SharedCallHandle*> let_go_of_others();
  static const core::CallRequest& request_of(const SharedCallHandle& lease) { return lease.request_; }

  net::Loop& loop_;
  std::unique_ptr<core::Call> call_;

 private:
  friend class SharedCallHandle;
  template <class F>
  void each(F&& visit);
  // True when it was the last, and the call still goes on.
  bool leave(SharedCallHandle& lease);
  // Its owner, who hears one more thing and may destroy it then: nothing here refers to it any more. Within
  // each() only.
  core::CallOwner* release(SharedCallHandle& lease);
  void catch_up();
  void tell_phase(SharedCallHandle& lease);
  void acknowledge(SharedCallHandle& lease, const mcp::Message& acknowledgement);

  core::Upstream& inner_;
  std::string key_;
  const core::CallRequest like_;
  HeldBytes like_bytes_{Held::calls};      // of it, of the copy that is under way, and of the key
  std::vector<SharedCallHandle*> leases_;  // null: left while all were told something
  size_t living_ = 0;
  bool has_first_ = false;
  core::Whose whose_ = core::Whose::own;  // the request behind the first one's
  std::optional<core::CallPhase> phase_;
  bool telling_ = false;
  bool closed_ = false;
  net::Deferred catch_up_later_;
};

}  // namespace lineward::upstream

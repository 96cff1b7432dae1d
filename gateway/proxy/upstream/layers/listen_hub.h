// An upstream in front of an upstream that owns its listens. Clients with the same filter and credentials
// share one `subscriptions/listen` of the server (behaviour.md 6). Each client's call is a lease on it; the
// last lease cancels it. When the server ends a listen in order, it is reopened while any lease exists. Other
// requests pass straight through.
//
// A listen lost with its process is reopened by the transport. A second acknowledgement makes exchanges
// generate the changes that may have been missed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/layers/shared_call.h"
#include "proxy/upstream/shared/standing_listen.h"

namespace lineward::upstream {

class ListenHub;

// A listen on the server and its leases. Owned by the hub.
class SharedListen final : public SharedCall {
 public:
  SharedListen(ListenHub& hub, std::string key, const core::UpstreamRequest& like);

  void close(core::CancelCause why) override;

  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

 private:
  void over() override;
  // Callers that join while it is down wait for the next one.
  const mcp::Message* acknowledgement() const override {
    return listen_.is_up() ? &*acknowledgement_ : nullptr;
  }
  std::shared_ptr<const mcp::ListenFilter> granted() const override { return listen_.granted(); }
  void stood(mcp::Message acknowledgement);
  void fell();
  void tell_changes();
  void open_again(std::string_view why, bool at_capacity);
  void give_up(const core::Failure& failure);
  void again();

  ListenHub& hub_;
  StandingListen<mcp::ListenFilter, std::shared_ptr<const mcp::ListenFilter>> listen_;
  std::optional<mcp::Message> acknowledgement_;  // the last one, cut to the requested filter
  MemoryCharge acknowledgement_bytes_{Held::listens};
  net::Timer timer_;  // until it is opened again, or has stood long enough
};

class ListenHub final : public core::PassingUpstream {
 public:
  ListenHub(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server)
      : PassingUpstream(std::move(inner)), loop_(loop), server_(server) {}
  ~ListenHub() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;

  // Called with every notification on a listen of the server, and each acknowledgement after the first.
  void watch(std::function<void(const mcp::Message&)> watcher) { watcher_ = std::move(watcher); }
  void seen(const mcp::Message& notification) {
    if (watcher_) watcher_(notification);
  }
  // Open listens on the server.
  size_t size() const { return shared_.size(); }

  // For SharedListen.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  bool stopping() const { return stopping_; }
  void over(SharedListen& shared);

 private:
  // The sharing key; `apart`: shared with the same caller only.
  std::string key_of(const core::UpstreamRequest& request, bool apart) const;
  SharedListen* find(const core::UpstreamRequest& request, std::string& key);

  net::Loop& loop_;
  const config::Server& server_;
  std::map<std::string, std::unique_ptr<SharedListen>> shared_;
  std::function<void(const mcp::Message&)> watcher_;
};

}  // namespace lineward::upstream

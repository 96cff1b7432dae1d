// An upstream in front of an upstream that owns its listens: clients with the same wishes and credentials
// share one `subscriptions/listen` of the server (behaviour.md 6). Each client's call is a lease on it; the
// last one leaving cancels it. When the server ends a listen in order, it is opened again while somebody
// listens. Everything that is no listen passes straight through.
//
// What was lost with a connection or a process is opened again further below, which knows how; here it shows
// as a second acknowledgement, and exchanges make the changes of it that may have been missed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "config/config.h"
#include "core/passing_upstream.h"
#include "layers/shared_call.h"
#include "net/loop.h"

namespace lineward::upstream {

class ListenHub;

// One listen on the server, and who shares it. Owned by the hub.
class SharedListen final : public SharedCall {
 public:
  SharedListen(ListenHub& hub, std::string key, const core::CallRequest& like);

  void close(core::CancelCause why) override;

  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;

 private:
  void over() override;
  // Who joins while it is down waits for the next one.
  const mcp::Message* acknowledgement() const override { return stands_ ? &*acknowledgement_ : nullptr; }
  std::shared_ptr<const mcp::ListenFilter> granted() const override { return granted_; }
  void stood(mcp::Message acknowledgement);
  void fell();
  void is_good();
  void open_again(std::string_view why, bool no_room);
  void give_up(const core::Failure& failure);
  void again();

  ListenHub& hub_;
  const mcp::ListenFilter asked_;
  std::optional<mcp::Message> acknowledgement_;  // the last one, cut to what was asked for
  HeldBytes acknowledgement_bytes_{Held::listens};
  std::shared_ptr<const mcp::ListenFilter> granted_;  // by it
  bool stands_ = false;                               // acknowledged, and not lost since
  uint32_t failures_ = 0;  // in a row: it was ended soon after it stood, or could not be opened again
  Backoff backoff_;
  bool same_loss_ = false;  // it was lost, its clients were told, and it was not good since
  bool untold_ = false;     // acknowledged in the same loss once more: told when it is good
  net::Timer again_;
  net::Timer good_;
};

class ListenHub final : public core::PassingUpstream {
 public:
  ListenHub(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server)
      : PassingUpstream(std::move(inner)), loop_(loop), server_(server) {}
  ~ListenHub() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;

  // Hears of every notification on a listen of the server, and of each acknowledgement after the first.
  void watch(std::function<void(const mcp::Message&)> watcher) { watcher_ = std::move(watcher); }
  void seen(const mcp::Message& notification) {
    if (watcher_) watcher_(notification);
  }
  // Listens on the server now.
  size_t size() const { return shared_.size(); }

  // For SharedListen.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  bool stopping() const { return stopping_; }
  void over(SharedListen& shared);

 private:
  // Where it is shared; `apart`: with the same caller only.
  std::string key_of(const core::CallRequest& request, bool apart) const;
  SharedListen* find(const core::CallRequest& request, std::string& key);

  net::Loop& loop_;
  const config::Server& server_;
  std::map<std::string, std::unique_ptr<SharedListen>> shared_;
  std::function<void(const mcp::Message&)> watcher_;
};

}  // namespace lineward::upstream

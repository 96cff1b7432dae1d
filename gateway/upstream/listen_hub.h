// An upstream in front of an upstream that owns its listens: clients with the same wishes and credentials
// share one `subscriptions/listen` of the server (BEHAVIOUR 6). Each client's call is a lease on it; the last
// one leaving cancels it. When the server ends a listen in order, it is opened again while somebody listens.
// Everything that is no listen passes straight through.
//
// What was lost with a connection or a process is opened again further below, which knows how; here it shows
// as a second acknowledgement, and exchanges make the changes of it that may have been missed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::upstream {

class ListenHub;
class SharedListen;

// One client's share of a listen.
class ListenLease final : public core::Call {
 public:
  ListenLease(ListenHub& hub, core::CallRequest request, core::CallOwner& owner)
      : hub_(hub), request_(std::move(request)), owner_(&owner) {}
  ~ListenLease() override;

  void cancel(std::string_view why) override;
  bool live() const override { return owner_ != nullptr; }
  void reply(std::string) override {}
  void hand_over(core::CallOwner& owner, bool) override {
    if (live()) owner_ = &owner;
  }
  const mcp::Message& request_message() const override { return request_.message; }
  void retried(mcp::Message) override {}

 private:
  friend class SharedListen;
  friend class ListenHub;
  ListenHub& hub_;
  core::CallRequest request_;
  core::CallOwner* owner_;
  SharedListen* shared_ = nullptr;
  size_t place_ = 0;  // among the leases of shared_
  bool acknowledged_ = false;
};

// One listen on the server, and who shares it. Owned by the hub.
class SharedListen final : public core::CallOwner {
 public:
  SharedListen(ListenHub& hub, std::string key, const core::CallRequest& like);
  ~SharedListen();

  // Nothing, or why it cannot even be begun.
  std::optional<core::Failure> open();
  void join(ListenLease& lease);
  // True when it was the last.
  bool leave(ListenLease& lease);
  core::CallOwner* release(ListenLease& lease);
  void close(std::string_view why);
  const std::string& key() const { return key_; }
  void rename(std::string key) { key_ = std::move(key); }
  // By which the server's transport knows its call.
  uint64_t tag() const { return like_.tag; }

  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message message) override;
  void on_call_failed(const core::Failure& failure) override;

 private:
  template <class F>
  void each(F&& visit);
  void greet();
  void torn_down(std::string_view how);
  void again();

  ListenHub& hub_;
  std::string key_;
  core::CallRequest like_;
  std::unique_ptr<core::Call> call_;
  std::vector<ListenLease*> leases_;  // null: left while all were told something
  size_t living_ = 0;
  std::optional<core::CallPhase> phase_;
  std::optional<mcp::Message> acknowledgement_;  // of the listen that stands
  bool telling_ = false;
  bool closed_ = false;
  bool stands_ = false;    // acknowledged by the call that is under way
  uint32_t failures_ = 0;  // times in a row that it was ended soon after it stood
  std::chrono::milliseconds stands_since_{0};
  net::Timer again_;
  net::Deferred greet_later_;
};

class ListenHub final : public core::Upstream {
 public:
  ListenHub(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server)
      : loop_(loop), inner_(std::move(inner)), server_(server) {}
  ~ListenHub() override;

  const std::string& name() const override { return inner_->name(); }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest request,
                                                           core::CallOwner& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeOwner& owner) override {
    inner_->open_scope(scope, owner);
  }
  void close_scope(const core::Scope& scope) override { inner_->close_scope(scope); }
  void forward(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message) override {
    inner_->forward(scope, client_era, message);
  }
  void notify(const core::Scope& scope, const mcp::Message& message,
              const core::HeaderFields& headers) override {
    inner_->notify(scope, message, headers);
  }
  std::optional<std::vector<std::string>> versions() const override { return inner_->versions(); }
  std::optional<mcp::Era> era() const override { return inner_->era(); }
  core::UpstreamStatus status() const override { return inner_->status(); }
  void wake() override { inner_->wake(); }
  void reconfigured() override { inner_->reconfigured(); }
  void stop(std::function<void()> done) override {
    stopping_ = true;
    inner_->stop(std::move(done));
  }

  // Hears of every notification on a listen of the server, and of each acknowledgement after the first.
  void watch(std::function<void(const mcp::Message&)> watcher) { watcher_ = std::move(watcher); }
  void seen(const mcp::Message& notification) {
    if (watcher_) watcher_(notification);
  }
  // Listens on the server now.
  size_t size() const { return shared_.size(); }

  // For the two above.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  bool stopping() const { return stopping_; }
  void left(SharedListen& shared, std::string_view why);
  // It is over; its leases have been told.
  void over(SharedListen& shared);

 private:
  // Where it is shared; `apart`: with the same caller only.
  std::string key_of(const core::CallRequest& request, bool apart) const;
  SharedListen* find(const core::CallRequest& request, std::string& key);

  net::Loop& loop_;
  std::unique_ptr<core::Upstream> inner_;
  const config::Server& server_;
  std::map<std::string, std::unique_ptr<SharedListen>> shared_;
  std::function<void(const mcp::Message&)> watcher_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream

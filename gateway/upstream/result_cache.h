// An upstream in front of an upstream that answers from memory what its server allows to be kept (`ttlMs`,
// `cacheScope`; 2026-07-28 server/utilities/caching), and lets identical requests under way share one call
// (BEHAVIOUR 12; docs/cache.md). Off unless `cache.enabled`. Only discover, lists and resources/read; never
// with a progress token, a log level, or what answers a server's questions.
//
// A result is kept for one principal, the same credentials in the server's eyes, revision and capabilities;
// one that the server calls public for everybody, where `cache.trustPublic` says that it is to be believed.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/held_bytes.h"
#include "config/config.h"
#include "core/stats.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::upstream {

class ResultCache;
class SharedCall;

// One caller's share of a call, or of what is in memory.
class CacheLease final : public core::Call {
 public:
  CacheLease(ResultCache& cache, core::CallRequest request, core::CallOwner& owner)
      : cache_(cache), request_(std::move(request)), owner_(&owner) {}
  ~CacheLease() override;

  void cancel(std::string_view why) override;
  bool live() const override { return owner_ != nullptr; }
  void reply(std::string) override {}
  void hand_over(core::CallOwner& owner, bool) override {
    if (live()) owner_ = &owner;
  }
  const mcp::Message& request_message() const override { return request_.message; }
  void retried(mcp::Message) override {}

 private:
  friend class SharedCall;
  friend class ResultCache;
  ResultCache& cache_;
  core::CallRequest request_;
  core::CallOwner* owner_;
  SharedCall* shared_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// One call on the server, and who waits for it. Owned by the cache. It lives as long as somebody waits: each
// caller's own limits run with its exchange.
class SharedCall final : public core::CallOwner {
 public:
  SharedCall(ResultCache& cache, std::string key, core::CallRequest like);
  ~SharedCall();

  std::optional<core::Failure> open();
  void join(CacheLease& lease);
  // True when it was the last.
  bool leave(CacheLease& lease);
  void close(std::string_view why);
  const std::string& key() const { return key_; }
  const core::CallRequest& like() const { return like_; }
  uint64_t tag() const { return like_.tag; }

  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message message) override;
  void on_call_failed(const core::Failure& failure) override;

 private:
  std::vector<CacheLease*> take_all();
  void tell_phase(CacheLease& lease);

  ResultCache& cache_;
  const std::string key_;
  core::CallRequest like_;
  std::unique_ptr<core::Call> call_;
  std::vector<CacheLease*> leases_;
  std::optional<core::CallPhase> phase_;
  bool closed_ = false;
};

class ResultCache final : public core::Upstream {
 public:
  ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server);
  ~ResultCache() override;

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
  void reconfigured() override;
  void stop(std::function<void()> done) override;

  // A notification of the server, whoever listens: what it says has changed is forgotten.
  void changed(const mcp::Message& notification);

  // For the two above.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  void left(SharedCall& shared, std::string_view why);
  void over(SharedCall& shared);
  void keep(const SharedCall& shared, const mcp::Message& result);

 private:
  using Clock = std::chrono::milliseconds;
  struct Entry {
    std::string key;
    mcp::Method method;
    std::string uri;  // of resources/read
    mcp::Message result;
    Clock kept_at{0}, until{0};
    int64_t ttl_ms = 0;
    HeldBytes held;
  };
  using Entries = std::list<Entry>;
  bool may_keep(const core::CallRequest& request) const;
  std::string key_of(const core::CallRequest& request, bool everybodys) const;
  Entries::iterator find(const std::string& key);
  void forget(Entries::iterator entry);
  std::unique_ptr<core::Call> answer(const Entry& entry, core::CallRequest request, core::CallOwner& owner);

  net::Loop& loop_;
  std::unique_ptr<core::Upstream> inner_;
  const config::Server& server_;
  core::UpstreamStats& stats_;
  std::map<std::string, std::unique_ptr<SharedCall>> under_way_;
  Entries entries_;  // used last first
  std::unordered_map<std::string, Entries::iterator> by_key_;
  uint64_t bytes_ = 0;
  uint64_t changes_ = 0;  // what was asked for before a change must not be kept after it
  bool stopping_ = false;
  std::map<const SharedCall*, uint64_t> asked_at_;  // changes_ when the call was begun
};

}  // namespace lineward::upstream

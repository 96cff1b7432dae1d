// An upstream in front of an upstream that caches results with the server's permission (`ttlMs`,
// `cacheScope`; 2026-07-28 server/utilities/caching). Identical requests in flight share one call
// (behaviour.md 12; docs/cache.md). Off unless `cache.enabled`. Only discover, lists and resources/read;
// never with a progress token, a log level, or answers to a server's questions.
//
// A result is kept for one principal, with the same forwarded credentials, revision and capabilities. A
// result that the server marks public is shared by all callers if `cache.trustPublic` permits it.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/layers/cache_watch.h"
#include "proxy/upstream/layers/shared_call.h"
#include "proxy/upstream/shared/told_changes.h"

namespace lineward::upstream {

class ResultCache;

// A call on the server, and the callers that wait for its answer. Owned by the cache.
class SharedFetch final : public SharedCall {
 public:
  SharedFetch(ResultCache& cache, std::string key, core::UpstreamRequest like);

  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  using SharedCall::let_go_of_others;
  using SharedCall::request_of;
  // ToldChanges::count() when it was asked.
  uint64_t told_before() const { return told_before_; }

 private:
  void over() override;

  ResultCache& cache_;
  const uint64_t told_before_;
};

class ResultCache final : public core::PassingUpstream {
 public:
  // `changes`: of the server, where other workers serve it too.
  ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server,
              std::shared_ptr<ToldChanges> changes = nullptr);
  ~ResultCache() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void notice(core::UpstreamNotice what) override;
  void stop(std::function<void()> done) override;

  // A notification of the server on any listen: drops the entries that it invalidates.
  void changed(const mcp::Message& notification);

  // For SharedFetch.
  net::Loop& loop() { return loop_; }
  uint64_t told(mcp::Method method, const std::string& uri) const {
    return changes_ ? changes_->count(method, uri) : 0;
  }
  core::Upstream& inner() { return *inner_; }
  void over(SharedFetch& shared);
  void keep(const SharedFetch& shared, const mcp::Message& result);
  void discovered(const mcp::Message& result);
  // The answer is for one caller only: requests the others' answers separately.
  void ask_apart(SharedFetch& shared);

 private:
  using Clock = std::chrono::milliseconds;
  struct Entry;
  using Entries = std::list<Entry>;
  // The subject of a change: a kind of list, or one resource (the URI is empty but for resources/read).
  using Subject = std::pair<mcp::Method, std::string>;
  using BySubject = std::multimap<Subject, Entries::iterator>;
  struct Entry {
    std::string key;
    BySubject::iterator subject;
    mcp::Message result;
    Clock kept_at{0}, until{0};
    int64_t ttl_ms = 0;
    uint64_t told = 0;  // ToldChanges::count() when the server was asked
    std::string view;   // of a list with a listen: the view it belongs to
    MemoryCharge held{Held::cache};
  };
  bool may_keep(const core::UpstreamRequest& request) const;
  bool may_be_served_as_legacy(const core::UpstreamRequest& request) const;
  std::string key_of(const core::UpstreamRequest& request, bool everybodys) const;
  std::string asker_of(const core::UpstreamRequest& request) const;
  bool concerns(const mcp::Message& notification, mcp::Method method, const std::string& uri) const;
  // Lineward's own listens.
  void watch(Entry& entry, const core::UpstreamRequest& like);
  void unwatched(const std::string& view);
  bool may_listen_again(const CacheWatch& watch) const;
  void log_forgotten(std::string_view what, uint64_t results) const;
  std::string view_of(const core::UpstreamRequest& like) const;
  void outdate(std::map<std::string, std::unique_ptr<SharedFetch>>::iterator fetch);
  void watch_over(const std::string& view);
  bool has_public_results() const;
  Entries::iterator find(const std::string& key);
  void forget(Entries::iterator entry);
  std::unique_ptr<core::Call> answer(const Entry& entry, core::UpstreamRequest request,
                                     core::CallCallbacks& owner);

  net::Loop& loop_;
  const config::Server& server_;
  metrics::UpstreamStats& stats_;
  const std::shared_ptr<ToldChanges> changes_;  // null: no other worker serves the server
  std::map<std::string, std::unique_ptr<SharedFetch>> under_way_;
  // Calls begun before a change was notified: they serve their waiting callers only.
  std::vector<std::unique_ptr<SharedFetch>> outdated_;
  Entries entries_;                                  // most recently used first
  std::map<std::string, Entries::iterator> by_key_;  // ordered: callers could choose colliding hash keys
  BySubject by_subject_;
  uint64_t bytes_ = 0;
  core::Tells tells_;                                           // from a client's `server/discover`
  std::map<std::string, std::unique_ptr<CacheWatch>> watches_;  // by view
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

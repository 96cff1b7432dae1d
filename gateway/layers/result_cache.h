// An upstream in front of an upstream that answers from memory what its server allows to be kept (`ttlMs`,
// `cacheScope`; 2026-07-28 server/utilities/caching), and lets identical requests under way share one call
// (behaviour.md 12; docs/cache.md). Off unless `cache.enabled`. Only discover, lists and resources/read;
// never with a progress token, a log level, or what answers a server's questions.
//
// A result is kept for one principal, the same credentials in the server's eyes, revision and capabilities;
// one that the server calls public for everybody, where `cache.trustPublic` says that it is to be believed.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/held_bytes.h"
#include "config/config.h"
#include "core/passing_upstream.h"
#include "layers/cache_watch.h"
#include "layers/shared_call.h"
#include "metrics/stats.h"
#include "net/loop.h"

namespace lineward::upstream {

class ResultCache;

// One call on the server, and who waits for its answer. Owned by the cache.
class SharedFetch final : public SharedCall {
 public:
  SharedFetch(ResultCache& cache, std::string key, core::CallRequest like);

  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  using SharedCall::let_go_of_others;
  using SharedCall::request_of;

 private:
  void over() override;

  ResultCache& cache_;
};

class ResultCache final : public core::PassingUpstream {
 public:
  ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server);
  ~ResultCache() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  void reconfigured() override;
  void stop(std::function<void()> done) override;

  // A notification of the server, whoever listens: what it says has changed is forgotten.
  void changed(const mcp::Message& notification);

  // For SharedFetch.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  void over(SharedFetch& shared);
  void keep(const SharedFetch& shared, const mcp::Message& result);
  void discovered(const mcp::Message& result);
  // Its answer is for one caller alone: the others are asked for apart.
  void ask_apart(SharedFetch& shared);

 private:
  using Clock = std::chrono::milliseconds;
  struct Entry;
  using Entries = std::list<Entry>;
  // What a change is told of: a kind of list, or one resource (the URI is empty but for resources/read).
  using Subject = std::pair<mcp::Method, std::string>;
  using BySubject = std::multimap<Subject, Entries::iterator>;
  struct Entry {
    std::string key;
    BySubject::iterator subject;
    mcp::Message result;
    Clock kept_at{0}, until{0};
    int64_t ttl_ms = 0;
    std::string view;  // of a list that is listened for: whose
    HeldBytes held{Held::cache};
  };
  bool may_keep(const core::CallRequest& request) const;
  std::string key_of(const core::CallRequest& request, bool everybodys) const;
  std::string asker_of(const core::CallRequest& request) const;
  bool concerns(const mcp::Message& notification, mcp::Method method, const std::string& uri) const;
  // Lineward's own listens.
  void watch(Entry& entry, const core::CallRequest& like);
  void unwatched(const std::string& view);
  bool may_listen_again(const CacheWatch& watch) const;
  void log_forgotten(std::string_view what, uint64_t results) const;
  std::string view_of(const core::CallRequest& like) const;
  void outdate(std::map<std::string, std::unique_ptr<SharedFetch>>::iterator fetch);
  void watch_over(const std::string& view);
  Entries::iterator find(const std::string& key);
  void forget(Entries::iterator entry);
  std::unique_ptr<core::Call> answer(const Entry& entry, core::CallRequest request, core::CallOwner& owner);

  net::Loop& loop_;
  const config::Server& server_;
  core::UpstreamStats& stats_;
  std::map<std::string, std::unique_ptr<SharedFetch>> under_way_;
  // Begun before a change was told: they answer who waits for them already, and nobody else.
  std::vector<std::unique_ptr<SharedFetch>> outdated_;
  Entries entries_;                                  // used last first
  std::map<std::string, Entries::iterator> by_key_;  // ordered: who asks could choose keys that collide
  BySubject by_subject_;
  uint64_t bytes_ = 0;
  core::Tells tells_;                                           // as discovered by a client
  std::map<std::string, std::unique_ptr<CacheWatch>> watches_;  // by view
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

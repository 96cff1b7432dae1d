// The origins of an HTTP server on this worker: which of them there are, and which one a call or session gets
// (docs/origins.md).
//
// A call without a session goes to the one with fewer calls in flight of two that are drawn by weight. A
// session is opened at such an origin and stays there. An origin gets nothing new while it is ejected, left
// alone (Retry-After), drained, or removed from the configuration. A removed one is freed when nothing uses
// it any more.
//
// Owned by an HttpUpstream. The workers of a server share the state of each origin, not its connections.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "foundation/net/resolver.h"
#include "foundation/net/tls.h"
#include "proxy/core/upstream.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http/origin.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

class OriginSet {
 public:
  static constexpr size_t kMost = 64;

  // `names`: how names are looked up, with `origins.resolve`.
  OriginSet(net::Loop& loop, const config::Server& server, const SharedPart& shared,
            net::ResolverOptions names = {});
  OriginSet(const OriginSet&) = delete;
  OriginSet& operator=(const OriginSet&) = delete;

  net::Loop& loop() { return loop_; }
  // Why no request can be sent at all; empty: nothing is wrong.
  const std::string& fault() const { return fault_; }
  // Null: no origin needs TLS.
  const std::shared_ptr<net::TlsContext>& tls() const { return tls_; }
  // Before the first request; must outlive the set.
  void use(RequestCredentials& credentials);
  // `freed`: a connection is free again, of an origin that was full.
  void on_freed(std::function<void()> freed);
  // The server's refusals concern single clients: a 429 says nothing about the others' calls.
  void set_personal(bool personal) { personal_ = personal; }

  // False: there is one address, and all below costs nothing.
  bool are_several() const { return several_; }
  // The first of the configuration.
  Origin& first() const { return *origins_.front(); }
  // The origin of a new call or session, other than those in `tried` (Origin::bit). Null: none can be used
  // now, see refusal().
  Origin* pick(uint64_t tried = 0) {
    if (several_) return choose(tried);
    return first().state().is_left_alone(loop_.now()) ? nullptr : &first();
  }
  // The same for a message that has to go somewhere.
  Origin& any() {
    Origin* found = pick();
    return found != nullptr ? *found : first();
  }
  // Another one than those.
  Origin* another(uint64_t tried) { return several_ ? choose(tried) : nullptr; }
  // `only`: the one that the call has to go to; null: any would do.
  core::Failure refusal(const Origin* only = nullptr) const;
  // There are several, and one of them is drained or leaving.
  bool has_closed() const;
  // All connections are in use, and no stream may be opened.
  bool full() const;
  bool has_stream_room() const;

  // The configuration has changed.
  void reconfigure();
  void close_idle();
  // Dropped messages count for all pools.
  void log_dropped(std::string_view kind, std::string_view id = {}) { first().pool().log_dropped(kind, id); }
  void note_useless() { first().pool().note_useless(); }
  std::vector<core::UpstreamStatus::Origin> status() const;
  // The origins to check: all but those that leave or are left alone.
  std::vector<Origin*> checked() const;

  // Reports of an origin. `retry_after`: it has answered 429 or 503 with this Retry-After.
  void on_origin_failed(Origin& origin, std::string_view why);
  void on_origin_busy(Origin& origin, int status, std::string_view retry_after);

 private:
  // A host name of the configuration, each address of which is an origin.
  struct Name {
    std::string url;
    std::unique_ptr<net::Resolver> resolver;
    std::vector<std::string> addresses;  // empty: not known yet
    bool asked = false;
  };
  struct Wanted {
    std::string key;
    HttpUrl url;
    std::string address;
    uint32_t weight = 1;
    bool drains = false;
  };

  // The origins of the configuration. Sets `fault_` if one is invalid.
  std::vector<Wanted> wanted();
  // Adds `one`, or an origin for each address of its name.
  void add_wanted(Wanted one, std::vector<Wanted>& out);
  // Null: it has no name that could be looked up here.
  Name* find_name(const Wanted& one);
  void resolve();
  void resolved(Name& name, const net::Addresses& found);
  void update(const std::vector<Wanted>& wanted);
  Origin* find(const std::string& key) const;
  void add(const Wanted& wanted);
  void invalid(const std::string& name, const std::string& why);
  void reap();
  Origin* choose(uint64_t tried);
  // Its weight for new calls; 0: none.
  bool has_healthy() const;
  uint32_t share_of(const Origin& origin) const;
  size_t draw(const std::array<uint32_t, kMost>& shares, uint32_t total);

  net::Loop& loop_;
  const config::Server& server_;
  const SharedPart& shared_;
  const net::ResolverOptions names_options_;
  const bool several_;
  const std::shared_ptr<UselessMessages> useless_ = std::make_shared<UselessMessages>();
  std::string fault_;
  std::shared_ptr<net::TlsContext> tls_;
  std::shared_ptr<OriginBook> book_;  // null: a single address on a single worker
  RequestCredentials* credentials_ = nullptr;
  std::function<void()> freed_;
  std::vector<std::unique_ptr<Origin>> origins_;  // never empty
  bool serves_ = false;                           // origins that are added now are new ones
  bool personal_ = false;
  uint64_t random_;
  net::Timer reaper_;
  std::vector<std::unique_ptr<Name>> names_;
  net::Timer resolve_again_;
};

}  // namespace lineward::upstream

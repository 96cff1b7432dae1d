// Rate limits: a token bucket for each caller, address, tool, server or session (docs/rate-limits.md). The
// buckets belong to this process, or are shared through a Redis.
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "foundation/base/glob.h"
#include "plugins/common/rate_limit_table.h"
#include "plugins/common/task_book.h"
#include "plugins/common/types.h"
#include "plugins/rate_limit/rate_limit_key.h"
#include "plugins/rate_limit/rate_limit_redis.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_option;
using plugin::Verdict;

constexpr std::chrono::seconds kSweepEvery{5};
constexpr size_t kSweepMost = 20000;
constexpr std::chrono::nanoseconds kMaxBucket = std::chrono::hours(24 * 30);

constexpr plugin::MetricRow kMetrics[] = {
    {"lineward_rate_limited_total", "counter", "key", "Messages that were refused because of their rate."},
    {"lineward_rate_limit_keys", "gauge", "key", "Keys with a bucket that is not full.", true},
    {"lineward_rate_limit_bytes", "gauge", "key", "Memory that these take.", true},
    {"lineward_rate_limit_evicted_total", "counter", "key",
     "Keys that were forgotten because of maxKeys before their bucket was full.", true},
    {"lineward_rate_limit_redis_up", "gauge", "key", "Whether the shared Redis answers.", true},
    {"lineward_rate_limit_redis_failures_total", "counter", "key",
     "Questions that Redis refused or did not answer in time."},
    {"lineward_rate_limit_fallback_total", "counter", "key", "Messages that were judged by redis.onError."},
};

constexpr size_t kMaxOver = 4096;
constexpr std::chrono::seconds kUnchecked{1};  // until a refused client should try again
constexpr size_t kMaxAsked = 1024;

// Identical entries share their buckets across workers.
std::string table_name(const config::PluginEntry& entry, const Rate& rate) {
  const config::PluginValues& values = entry.values;
  return fmt::format("{}\n{}\n{}/{}/{}\n{}\n{}\n{}\n{}\n{}", entry.name, values.text("key"), rate.requests,
                     rate.per.count(), rate.burst, values.number("maxKeys"), fmt::join(entry.servers, "\t"),
                     fmt::join(values.list("methods"), "\t"), fmt::join(values.list("tools"), "\t"),
                     entry.directory);
}

enum class OnError : uint8_t { allow, deny, local };

class RateLimit final : public plugin::Plugin {
 public:
  RateLimit(const config::PluginEntry& entry, Rate rate, std::vector<KeyPart> key, plugin::Host& host)
      : name_(entry.name),
        key_name_(entry.values.text("key")),
        servers_(entry.servers),
        listeners_(entry.listeners),
        key_(std::move(key)),
        methods_(entry.values.list("methods")),
        tools_(entry.values.list("tools")),
        table_(CommonTable::of(table_name(entry, rate), rate, entry.values.number("maxKeys"))),
        sweep_(host.loop()) {
    policy_ = fmt::format("\"{}\";q={};w={}", name_, rate.requests,
                          std::max<int64_t>(1, (rate.per.count() + 999) / 1000));
  }

  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override;

  std::optional<core::PolicyError> on_out_of_call(const plugin::RequestInfo& facts, mcp::Message&,
                                                  plugin::Direction way) override;
  void on_out_of_call_end(const plugin::RequestInfo& facts, const core::PolicyError* refusal) override;
  void on_refused(const core::RefusedRequest& request) override;
  // Whether requests refused before they reached this limit count (docs/rate-limits.md).
  bool counts_refused(mcp::EndReason reason) const;
  // The same for requests that ended for any reason.
  bool counts_unasked(mcp::EndReason reason) const;
  // Whether the tool of a task must be known.
  bool follows_tasks() const {
    return !tools_.empty() || std::find(key_.begin(), key_.end(), KeyPart::tool) != key_.end();
  }
  // A request about a task counts as a call of its tool; nullopt if that is known not to be among `tools`. If
  // several tools are possible, the first counts; an unknown one counts as a tool of its own.
  std::optional<RateKey> key_of_task(plugin::RequestInfo facts, const mcp::Message& request) const;
  // Takes a token without waiting for the verdict. Nullopt: Redis judges it later, or it passes (onError:
  // allow).
  std::optional<Admittance> charge(const RateKey& key);
  // The verdict of onError.
  std::optional<Admittance> charge_without_redis(const RateKey& key);

  void count(plugin::CounterSink& sink) const override {
    sink.add("lineward_rate_limited_total", key_name_, static_cast<double>(limited_));
    const CommonTable::Sizes sizes = table_->sizes();
    sink.add("lineward_rate_limit_keys", key_name_, static_cast<double>(sizes.keys));
    sink.add("lineward_rate_limit_bytes", key_name_, static_cast<double>(sizes.bytes));
    sink.add("lineward_rate_limit_evicted_total", key_name_, static_cast<double>(sizes.evicted));
    if (!shared_) return;
    sink.add("lineward_rate_limit_redis_up", key_name_, shared_->up() ? 1 : 0);
    sink.add("lineward_rate_limit_redis_failures_total", key_name_, static_cast<double>(shared_->failures()));
    sink.add("lineward_rate_limit_fallback_total", key_name_, static_cast<double>(fallbacks_));
  }

  Admittance take_local(const RateKey& key) {
    Admittance out = table_->take(key, now());
    if (!sweep_.running()) sweep_soon();
    return out;
  }

  SharedBuckets* shared() const { return shared_.get(); }
  void share(std::unique_ptr<SharedBuckets> shared, OnError on_error) {
    shared_ = std::move(shared);
    on_error_ = on_error;
  }
  Verdict without_redis(plugin::ExchangeView& exchange, const RateKey& key) {
    ++fallbacks_;
    if (on_error_ == OnError::allow) return Verdict::proceed;
    if (on_error_ == OnError::local) return judge(exchange, take_local(key));
    ++limited_;
    exchange.refuse(unchecked());
    return Verdict::answered;
  }

  // Sets the client's rate headers, and refuses the request if no token is left.
  Verdict judge(plugin::ExchangeView& exchange, const Admittance& admittance) {
    auto seconds = [](std::chrono::nanoseconds time) {
      return std::chrono::ceil<std::chrono::seconds>(time).count();
    };
    exchange.add_reply_header("RateLimit-Policy", policy_);
    exchange.add_reply_header("RateLimit", fmt::format(FMT_COMPILE("\"{}\";r={};t={}"), name_,
                                                       admittance.remaining, seconds(admittance.full_after)));
    if (admittance.allowed) return Verdict::proceed;
    exchange.refuse(refusal_of(admittance));
    return Verdict::answered;
  }

 private:
  static core::PolicyError unchecked() {
    core::PolicyError refusal;
    refusal.reason = mcp::EndReason::rate_limited;
    refusal.retry_after_ms = std::chrono::milliseconds(kUnchecked).count();
    refusal.text =
        fmt::format("the rate of requests cannot be checked now; try again in {} ms", refusal.retry_after_ms);
    return refusal;
  }
  core::PolicyError refusal_of(const Admittance& admittance) {
    ++limited_;
    if (admittance.unchecked) return unchecked();
    core::PolicyError refusal;
    refusal.reason = mcp::EndReason::rate_limited;
    refusal.retry_after_ms = std::chrono::ceil<std::chrono::milliseconds>(admittance.retry_after).count();
    refusal.text = fmt::format(
        "too many requests: {} in {} s are allowed by {}; try again in {} ms", table_->rate().requests,
        static_cast<double>(table_->rate().per.count()) / 1000, key_name_, refusal.retry_after_ms);
    return refusal;
  }
  // Other gateways find the same key in a shared Redis.
  RateKey digest(std::string_view key) const { return shared_ ? rate_key(key) : keyed_digest(key); }
  static int64_t now() { return static_cast<int64_t>(net::Loop::nanoseconds()); }

  bool counts(const plugin::RequestInfo& facts) const {
    auto matches = [](const std::vector<std::string>& globs, std::string_view name) {
      return std::any_of(globs.begin(), globs.end(),
                         [&](const std::string& glob) { return glob_match(glob, name); });
    };
    if (!tools_.empty() && facts.method == mcp::Method::tasks_update) return true;  // decided with its task
    if (!tools_.empty()) return facts.method == mcp::Method::tools_call && matches(tools_, facts.target);
    return methods_.empty() ? facts.method != mcp::Method::ping : matches(methods_, facts.method_name);
  }

  void sweep_soon() {
    sweep_.start(kSweepEvery, [this] {
      if (table_->forget_idle(now(), kSweepMost) > 0) sweep_soon();
    });
  }

  std::string name_, key_name_, policy_;
  std::vector<std::string> servers_, listeners_;
  std::vector<KeyPart> key_;
  std::vector<std::string> methods_, tools_;
  std::shared_ptr<CommonTable> table_;
  net::Timer sweep_;
  std::unique_ptr<SharedBuckets> shared_;  // through a Redis
  // For charges without a waiting request: pending Redis calls, and keys over the limit until a time.
  std::deque<std::shared_ptr<SharedBuckets::Ticket>> asked_;
  std::map<RateKey, int64_t> over_until_;
  OnError on_error_ = OnError::local;
  bool out_of_call_charged_ = false;  // the current out-of-call message
  uint64_t limited_ = 0, fallbacks_ = 0;
};

class Counting final : public plugin::Hook {
 public:
  Counting(RateLimit& limit, RateKey key) : limit_(limit), key_(key) {}

  Verdict on_upstream_message(plugin::ExchangeView& exchange, mcp::Message& message) override {
    if (limit_.follows_tasks()) tasks::note(exchange.facts(), message);
    return Verdict::proceed;
  }
  Verdict on_client_message(plugin::ExchangeView& exchange, mcp::Message& message) override {
    charged_ = true;
    if (limit_.follows_tasks() && exchange.facts().method == mcp::Method::tasks_update) {
      const auto key = limit_.key_of_task(exchange.facts(), message);
      if (!key) return Verdict::proceed;
      key_ = *key;
    }
    if (limit_.shared() == nullptr) return limit_.judge(exchange, limit_.take_local(key_));
    waits_ = limit_.shared()->take(key_, [this, &exchange](std::optional<Admittance> admittance) {
      exchange.resume(admittance ? limit_.judge(exchange, *admittance)
                                 : limit_.without_redis(exchange, key_));
    });
    return waits_ ? Verdict::wait : limit_.without_redis(exchange, key_);
  }
  // A request that ended before it reached this hook still counts.
  void on_end(const plugin::ExchangeView&, const plugin::Ending& ending) noexcept override {
    if (!charged_ && limit_.counts_unasked(ending.reason)) limit_.charge(key_);
  }

 private:
  RateLimit& limit_;
  RateKey key_;
  std::shared_ptr<SharedBuckets::Ticket> waits_;
  bool charged_ = false;
};

std::optional<RateKey> RateLimit::key_of_task(plugin::RequestInfo facts, const mcp::Message& request) const {
  std::string tool;
  for (const std::string& id : tasks::named(facts.method, request)) {
    if (!tools_.empty() && tasks::is_of_others(facts.upstream, id, tools_)) return std::nullopt;
    for (const std::string& one : tasks::tools_of(facts.upstream, id)) {
      const bool named = tools_.empty() || std::any_of(tools_.begin(), tools_.end(), [&](const auto& glob) {
                           return glob_match(glob, one);
                         });
      if (named && tool.empty()) tool = one;
    }
  }
  facts.target = tool;
  return digest(key_of(key_, facts));
}

std::optional<Admittance> RateLimit::charge(const RateKey& key) {
  if (!shared_) return take_local(key);
  std::optional<Admittance> out;
  if (auto over = over_until_.find(key); over != over_until_.end()) {
    if (over->second > now()) {
      out = Admittance{};
      out->retry_after = std::chrono::nanoseconds(over->second - now());
      out->unchecked = on_error_ == OnError::deny && !shared_->up();
      return out;
    }
    over_until_.erase(over);
  }
  auto ticket = shared_->take(key, [this, key](std::optional<Admittance> admittance) {
    if (!admittance) admittance = charge_without_redis(key);
    if (!admittance || admittance->allowed) return;
    if (over_until_.size() >= kMaxOver) over_until_.clear();
    over_until_[key] = now() + admittance->retry_after.count();
  });
  if (!ticket) return charge_without_redis(key);
  asked_.push_back(std::move(ticket));
  if (asked_.size() > kMaxAsked) asked_.pop_front();
  return out;
}

std::optional<Admittance> RateLimit::charge_without_redis(const RateKey& key) {
  ++fallbacks_;
  if (on_error_ == OnError::allow) return std::nullopt;
  if (on_error_ == OnError::local) return take_local(key);
  Admittance refused;
  refused.unchecked = true;
  refused.retry_after = kUnchecked;
  return refused;
}

// Notifications and answers. A cancel is counted but passes: the work it ends costs more. So does the message
// that completes an admitted handshake: refused, it would leave an unusable session.
std::optional<core::PolicyError> RateLimit::on_out_of_call(const plugin::RequestInfo& facts, mcp::Message&,
                                                           plugin::Direction way) {
  if (way == plugin::Direction::to_client || facts.peer.empty() || !counts(facts)) return std::nullopt;
  const std::string key = key_of(key_, facts);
  if (key.empty()) return std::nullopt;
  out_of_call_charged_ = true;
  auto admittance = charge(digest(key));
  const bool ends_something =
      facts.method == mcp::Method::cancelled || facts.method == mcp::Method::initialized;
  if (!admittance || admittance->allowed || ends_something) return std::nullopt;
  return refusal_of(*admittance);
}

// A caller's refused requests only affect that caller. They count if the caller has its own bucket and every
// message counts. A request refused by a limit costs nothing in later limits.
bool RateLimit::counts_refused(mcp::EndReason reason) const {
  return reason != mcp::EndReason::rate_limited && methods_.empty() && tools_.empty() && is_of_caller(key_);
}

// A request answered by a plugin, or left by its client, was not refused.
bool RateLimit::counts_unasked(mcp::EndReason reason) const {
  const bool refused = mcp::has(reason, mcp::kByPlugin) || reason == mcp::EndReason::queue_full;
  return !refused || counts_refused(reason);
}

void RateLimit::on_out_of_call_end(const plugin::RequestInfo& facts, const core::PolicyError* refusal) {
  const bool asked = std::exchange(out_of_call_charged_, false);
  if (asked || refusal == nullptr || facts.peer.empty() || !counts(facts)) return;
  const std::string key = key_of(key_, facts);
  if (!key.empty() && counts_refused(refusal->reason)) charge(digest(key));
}

// For requests refused before they became a message.
void RateLimit::on_refused(const core::RefusedRequest& request) {
  if (!counts_refused(request.reason)) return;
  if (!servers_.empty() && std::find(servers_.begin(), servers_.end(), request.server) == servers_.end())
    return;
  const std::string_view at = request.listener.empty() ? config::kFirstListener : request.listener;
  if (!listeners_.empty() && std::find(listeners_.begin(), listeners_.end(), at) == listeners_.end()) return;
  plugin::RequestInfo facts;
  facts.upstream = facts.endpoint = request.server;
  facts.peer = request.peer;
  facts.caller = request.caller;
  facts.on_stdio = request.on_stdio;
  const std::string key = key_of(key_, facts);
  if (!key.empty()) charge(digest(key));
}

std::unique_ptr<plugin::Hook> RateLimit::attach(plugin::ExchangeView& exchange) {
  plugin::RequestInfo facts = exchange.facts();
  if (!counts(facts)) {
    const bool may_be_task = !tools_.empty() && facts.method == mcp::Method::tools_call;
    return may_be_task ? std::make_unique<tasks::Remembering>() : nullptr;
  }
  std::string key = key_of(key_, facts);
  return key.empty() ? nullptr : std::make_unique<Counting>(*this, digest(key));
}

std::string_view check_key(const config::Value& value) {
  return parse_key(value.text) ? std::string_view()
                               : "a key is made of principal, address, tool, server and session, each once, "
                                 "joined by +";
}

std::string_view check_url(const config::Value& value) {
  static constexpr std::string_view kHow =
      "write redis://[:password@]host[:port][/db], rediss:// for TLS, or unix:/path/to.sock[?db=N]";
  return value.text.empty() || parse_redis_url(value.text) ? std::string_view() : kHow;
}

void look_at_authority(const config::PluginEntry& entry, std::vector<config::PluginFinding>& findings) {
  const std::string file = entry.path_of(entry.values.text("redis.caFile"));
  if (file.empty()) return;
  if (auto context = net::TlsContext::for_client({file, {}, {}}); !context)
    findings.push_back({"redis.caFile", "bad-file", context.error().text, "a PEM file of authorities"});
}

const config::PluginSpec kSpec{
    "rateLimit",
    "How many requests one caller, address, tool, server or session may send.",
    false,
    {plugin_option("key", Kind::text, "principal", 0, 0,
                   "The key of a bucket: principal, address, tool, server, session, or several as "
                   "principal+tool. Callers without a name count by their address.",
                   check_key),
     plugin_option("requests", Kind::count, "1", 1, 1000000, "So many in each `per`."),
     plugin_option("per", Kind::duration, "1m", 1, 86400000, "The time for `requests`."),
     plugin_option("burst", Kind::count, "0", 0, 1000000,
                   "So many at once, after a pause; 0: as many as `requests`."),
     plugin_option("methods", Kind::list, "", 0, 0,
                   "Globs of the methods that count, `response` for answers; empty: every message but ping."),
     plugin_option("tools", Kind::list, "", 0, 0,
                   "Globs of tools: only calls of these count, and what their tasks are told."),
     plugin_option("maxKeys", Kind::count, "100000", 1, 10000000,
                   "Keys that are remembered; the one not used for longest is forgotten first."),
     plugin_option(
         "redis.url", Kind::text, "", 0, 0,
         "A Redis that keeps the buckets of several gateways: redis://[:password@]host[:port][/db], "
         "rediss:// or unix:/path.",
         check_url),
     plugin_option("redis.prefix", Kind::text, "lineward:", 0, 0, "In front of its keys."),
     plugin_option("redis.caFile", Kind::text, "", 0, 0,
                   "PEM of authorities to trust, for rediss; empty: the system's."),
     plugin_option("redis.timeout", Kind::duration, "50ms", 1, 10000, "It has this long to answer."),
     config::plugin_choice("redis.onError", "allow|deny|local", "local",
                           "When it does not: let the request pass, refuse it, or count in this process.")},
    {"requests"},
    look_at_authority};

Result<std::unique_ptr<plugin::Plugin>> make(const config::PluginEntry& entry, plugin::Host& host) {
  auto key = parse_key(entry.values.text("key"));
  if (!key) return fail(key.error().text);
  Rate rate{entry.values.number("requests"), entry.values.duration("per"), entry.values.number("burst")};
  if (rate.burst == 0) rate.burst = rate.requests;
  double whole = static_cast<double>(rate.interval()) * static_cast<double>(rate.burst);
  if (whole > static_cast<double>(kMaxBucket.count()))
    return fail("burst is too large: at this rate it would take more than 30 days to fill");
  auto made = std::make_unique<RateLimit>(entry, rate, std::move(*key), host);
  const config::PluginValues& values = entry.values;
  if (!values.text("redis.url").empty()) {
    auto url = parse_redis_url(values.text("redis.url"));
    if (!url) return fail("redis.url: " + url.error().text);
    std::shared_ptr<net::TlsContext> tls;
    if (url->tls) {
      const std::string ca = entry.path_of(values.text("redis.caFile"));
      auto context = net::TlsContext::for_client({ca, {}, {}});
      if (!context) return fail("redis.caFile: " + context.error().text);
      tls = std::move(*context);
    }
    made->share(
        std::make_unique<SharedBuckets>(
            host.loop(), std::move(*url), std::move(tls),
            SharedBuckets::Options{entry.name, values.text("redis.prefix"), values.duration("redis.timeout")},
            rate),
        static_cast<OnError>(values.number("redis.onError")));
  }
  return Result<std::unique_ptr<plugin::Plugin>>(std::move(made));
}

}  // namespace

plugin::Type rate_limit() {
  return {&kSpec, kMetrics, make};
}

}  // namespace lineward::plugins

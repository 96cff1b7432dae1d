#include "proxy/upstream/layers/result_cache.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "config/identity_words.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "protocol/mcp/cache_hints.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/caller_group.h"
#include "proxy/upstream/shared/era_verdict.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// The longest time to live, whatever the server sends.
constexpr int64_t kMaxMs = 24ll * 3600 * 1000;
// Overhead of an entry beyond the bytes of its result.
constexpr uint64_t kEntryBytes = 512;
// The number of views with a listen of Lineward's own. Over HTTP each takes a connection; at most this share
// of the connections is used.
constexpr size_t kMaxWatches = 64;
constexpr size_t kWatchShare = 4;
// Keys and listens are stored beside the results, several times over: requests with more bytes of parameters,
// capabilities or names are not cached.
constexpr size_t kMaxKeyBytes = 64 * 1024;

// Methods with cache hints and cacheable results.
constexpr std::array<Method, 6> kKept{
    Method::server_discover,          Method::tools_list,    Method::prompts_list, Method::resources_list,
    Method::resources_templates_list, Method::resources_read};

bool is_list(Method method) {
  return mcp::has_cache_hints(method) && method != Method::server_discover &&
         method != Method::resources_read;
}

int64_t ttl_of(const mcp::Message& result) {
  std::string_view raw = result.raw(Field::result_ttl_ms);
  int64_t value = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  bool whole = !raw.empty() && error == std::errc() && end == raw.data() + raw.size();
  return whole ? std::clamp<int64_t>(value, 0, kMaxMs) : 0;
}

// Incomplete: the server asks its client something, and a question has one owner.
bool is_complete(const mcp::Message& answer) {
  return answer.kind() != mcp::MessageKind::result || !answer.has(Field::result_type) ||
         answer.text(Field::result_type) == "complete";
}

// The URI of the resource that is read; empty for a list.
std::string uri_of(const core::UpstreamRequest& request) {
  return request.method == Method::resources_read ? request.message.text(Field::params_uri) : std::string();
}

// The key is stored here and in the index.
uint64_t size_of(const std::string& key, const std::string& uri, const mcp::Message& result) {
  return result.bytes().size() + 2 * key.size() + 2 * uri.size() + kEntryBytes;
}

// Without `_meta`: the key contains the caller, revision and capabilities separately.
std::string params_of(const mcp::Message& request) {
  if (!request.has(Field::params)) return {};
  std::string_view params = request.raw(Field::params);
  if (!request.has(Field::params_meta)) return json::compact(params);
  json::Splice splice = request.splice();
  splice.remove_member(request.at(Field::params), request.key_at(Field::params_meta),
                       request.at(Field::params_meta));
  auto changed = mcp::Message::parse(splice.apply_outlined());
  return changed ? json::compact(changed->raw(Field::params)) : json::compact(params);
}

// The share of a caller answered from the cache.
class KeptAnswer final : public SharedCallHandle {
 public:
  KeptAnswer(net::Loop& loop, const config::Server& server, core::UpstreamRequest request,
             core::CallCallbacks& owner, mcp::Message answer)
      : SharedCallHandle(server, std::move(request), owner),
        answer_(std::move(answer)),
        later_(
            loop, [](void* self) { static_cast<KeptAnswer*>(self)->tell(); }, this) {
    later_.schedule();
  }
  // Says nothing about this caller's credentials: a public result may have been fetched with other ones.
  core::CallFacts call_facts() const override {
    core::CallFacts facts = SharedCallHandle::call_facts();
    facts.is_from_server = false;
    return facts;
  }

 private:
  void tell() {
    if (!live()) return;
    mcp::Message answer = std::move(answer_);  // the owner may end this call during the callback
    take_owner()->on_call_message(std::move(answer));
  }

  mcp::Message answer_;
  net::Deferred later_;
};

}  // namespace

// ---- the call ----

SharedFetch::SharedFetch(ResultCache& cache, std::string key, core::UpstreamRequest like)
    : SharedCall(cache.loop(), cache.inner(), std::move(key), std::move(like)),
      cache_(cache),
      told_before_(cache.told(this->like().method, uri_of(this->like()))) {}

void SharedFetch::on_call_message(mcp::Message&& message) {
  bool final = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (!final) return;  // without token and level, no other message belongs to this call
  if (message.kind() == mcp::MessageKind::result) cache_.keep(*this, message);
  if (!is_complete(message)) cache_.ask_apart(*this);
  if (like().method == Method::server_discover) cache_.discovered(message);
  over();  // a caller that arrives during tell_end() starts a new call
  tell_end(message);
}

void SharedFetch::on_call_failed(const core::Failure& failure) {
  over();
  tell_end(failure);
}

void SharedFetch::over() {
  cache_.over(*this);
}

// ---- the cache ----

ResultCache::ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server,
                         std::shared_ptr<ToldChanges> changes)
    : PassingUpstream(std::move(inner)),
      loop_(loop),
      server_(server),
      stats_(metrics::upstream_stats(server.name)),
      changes_(std::move(changes)) {}

ResultCache::~ResultCache() {
  lifetime_.end();
  stopping_ = true;
  watches_.clear();
  for (auto& [key, shared] : under_way_)
    shared->close("the gateway is stopping");
  for (auto& shared : outdated_)
    shared->close("the gateway is stopping");
}

void ResultCache::stop(std::function<void()> done) {
  watches_.clear();
  PassingUpstream::stop(std::move(done));
}

void ResultCache::notice(core::UpstreamNotice what) {
  PassingUpstream::notice(what);
  if (what != core::UpstreamNotice::reconfigured) return;
  while (!entries_.empty() && (!server_.cache.enabled || bytes_ > server_.cache.max_bytes))
    forget(std::prev(entries_.end()));
}

bool ResultCache::may_keep(const core::UpstreamRequest& request) const {
  const mcp::Message& message = request.message;
  bool plain = !message.has(Field::meta_progress_token) && !message.has(Field::meta_log_level) &&
               !message.has(Field::params_input_responses) && !message.has(Field::params_request_state) &&
               !message.has(Field::params_task);
  if (!server_.cache.enabled || stopping_ || request.client_era != mcp::Era::modern || !plain) return false;
  // Lineward's own health check.
  if (request.of_gateway && request.method == Method::server_discover) return false;
  // A legacy server may ask its client something during a read: that concerns one caller only.
  return mcp::has_cache_hints(request.method) &&
         (!mcp::may_ask(request.method) || !may_be_served_as_legacy(request));
}

std::string ResultCache::key_of(const core::UpstreamRequest& request, bool everybodys) const {
  const mcp::Message& message = request.message;
  std::string key = message.method();
  key += '\n';
  key += message.raw(Field::meta_protocol_version);
  key += '\n' + json::compact(message.raw(Field::meta_client_capabilities)) + '\n';
  key += params_of(message);
  // Callers that do not mirror parameters in headers are not shown tools that require them.
  if (request.sends_param_headers) key += "\nmirrors";
  return key + (everybodys ? "\neverybody" : "\nof\n" + asker_of(request));
}

// A server that learns the identity of callers has no results for all of them (docs/identity.md).
bool ResultCache::has_public_results() const {
  return server_.cache.trust_public && !config::tells_callers(server_);
}

// A server of both eras serves a legacy session by its legacy revisions, in a process of its own.
bool ResultCache::may_be_served_as_legacy(const core::UpstreamRequest& request) const {
  return inner_->era() != mcp::Era::modern || has_its_own(*inner_, server_, request.scope);
}

// The state name matters where the server has one state for each.
std::string ResultCache::asker_of(const core::UpstreamRequest& request) const {
  std::string asker = request.scope.principal + '\n' + request.scope.session + '\n';
  if (server_.isolation == config::Isolation::session) asker += request.scope.affinity;
  if (may_be_served_as_legacy(request)) asker += request.scope.bridged_session;
  return asker + '\n' + identity_of(server_, request.headers);
}

Result<std::unique_ptr<core::Call>, core::Failure> ResultCache::start(core::UpstreamRequest&& request,
                                                                      core::CallCallbacks& owner) {
  if (!may_keep(request)) return inner_->start(std::move(request), owner);
  std::string key = key_of(request, false);
  if (key.size() > kMaxKeyBytes) return inner_->start(std::move(request), owner);
  auto kept = find(key);
  if (kept == entries_.end() && has_public_results()) kept = find(key_of(request, true));
  if (kept != entries_.end()) {
    ++stats_.cache_hits;
    return answer(*kept, std::move(request), owner);
  }
  SharedFetch* shared = nullptr;
  auto found = under_way_.find(key);
  if (found != under_way_.end() && found->second->told_before() != told(request.method, uri_of(request))) {
    outdate(found);
    found = under_way_.end();
  }
  if (found != under_way_.end()) {
    ++stats_.cache_shared;
    shared = found->second.get();
  } else {
    ++stats_.cache_misses;
    auto made = std::make_unique<SharedFetch>(*this, key, request);
    if (auto failure = made->open()) return Unexpected<core::Failure>{std::move(*failure)};
    shared = under_way_.emplace(key, std::move(made)).first->second.get();
  }
  auto lease = std::make_unique<SharedCallHandle>(server_, std::move(request), owner);
  shared->join(*lease);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(lease));
}

// Answers from the cache, with the remaining time to live.
std::unique_ptr<core::Call> ResultCache::answer(const Entry& entry, core::UpstreamRequest request,
                                                core::CallCallbacks& owner) {
  int64_t age = (loop_.now() - entry.kept_at).count();
  json::Splice splice = entry.result.splice();
  splice.replace(entry.result.at(Field::result_ttl_ms),
                 std::to_string(std::max<int64_t>(0, entry.ttl_ms - age)));
  auto made = mcp::Message::parse(splice.apply_outlined());
  return std::make_unique<KeptAnswer>(loop_, server_, std::move(request), owner,
                                      made ? std::move(*made) : mcp::Message(entry.result));
}

void ResultCache::ask_apart(SharedFetch& shared) {
  std::vector<std::pair<SharedFetch*, core::Failure>> failed;
  for (SharedCallHandle* lease : shared.let_go_of_others()) {
    auto made = std::make_unique<SharedFetch>(*this, shared.key(), SharedFetch::request_of(*lease));
    made->join(*lease);
    if (auto failure = made->open()) failed.emplace_back(made.get(), std::move(*failure));
    outdated_.push_back(std::move(made));
  }
  // A callback may end others of them.
  for (auto& [fetch, why] : failed) {
    loop_.defer(lifetime_, [this, fetch = fetch, why = std::move(why)] {
      const bool lives = std::any_of(outdated_.begin(), outdated_.end(),
                                     [&](const auto& one) { return one.get() == fetch; });
      if (lives) fetch->on_call_failed(why);
    });
  }
}

void ResultCache::over(SharedFetch& shared) {
  // It may be on the stack.
  auto found = under_way_.find(shared.key());
  if (found != under_way_.end() && found->second.get() == &shared) {
    loop_.retire(std::move(found->second));
    under_way_.erase(found);
    return;
  }
  auto old =
      std::find_if(outdated_.begin(), outdated_.end(), [&](const auto& one) { return one.get() == &shared; });
  if (old == outdated_.end()) return;
  loop_.retire(std::move(*old));
  outdated_.erase(old);
}

ResultCache::Entries::iterator ResultCache::find(const std::string& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return entries_.end();
  auto entry = found->second;
  const auto& [method, uri] = entry->subject->first;
  if (loop_.now() >= entry->until || entry->told != told(method, uri)) {
    forget(entry);
    return entries_.end();
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry;
}

void ResultCache::forget(Entries::iterator entry) {
  bytes_ -= entry->held.mine();
  by_key_.erase(entry->key);
  by_subject_.erase(entry->subject);
  if (auto watch = watches_.find(entry->view); watch != watches_.end()) watch->second->let_go();
  entries_.erase(entry);
}

void ResultCache::keep(const SharedFetch& shared, const mcp::Message& result) {
  int64_t ttl = ttl_of(result);
  auto asked = under_way_.find(shared.key());
  bool current = asked != under_way_.end() && asked->second.get() == &shared;
  const Method method = shared.like().method;
  std::string uri = uri_of(shared.like());
  current = current && shared.told_before() == told(method, uri);
  if (ttl == 0 || !is_complete(result) || !current || stopping_) return;
  bool everybodys = has_public_results() && result.text(Field::result_cache_scope) == "public";
  std::string key = key_of(shared.like(), everybodys);
  uint64_t size = size_of(key, uri, result);
  if (size > server_.cache.max_bytes) return;
  if (auto before = by_key_.find(key); before != by_key_.end()) forget(before->second);
  Entry& entry = entries_.emplace_front();
  entry.key = std::move(key);
  entry.result = result;
  entry.kept_at = loop_.now();
  entry.ttl_ms = ttl;
  entry.told = shared.told_before();
  entry.until = loop_.now() + milliseconds(ttl);
  entry.held.set(size);
  bytes_ += size;
  by_key_[entry.key] = entries_.begin();
  entry.subject = by_subject_.emplace(Subject(method, std::move(uri)), entries_.begin());
  watch(entry, shared.like());
  while (bytes_ > server_.cache.max_bytes)
    forget(std::prev(entries_.end()));
}

bool ResultCache::concerns(const mcp::Message& notification, Method method, const std::string& uri) const {
  switch (mcp::method_of(notification.method())) {
    case Method::tools_list_changed: return method == Method::tools_list;
    case Method::prompts_list_changed: return method == Method::prompts_list;
    case Method::resources_list_changed:
      return method == Method::resources_list || method == Method::resources_templates_list;
    case Method::resources_updated:
      return method == Method::resources_read && uri == notification.text(Field::params_uri);
    // A listen that was reopened: changes meanwhile are unknown.
    case Method::subscriptions_acknowledged: return method != Method::server_discover;
    default: return false;
  }
}

void ResultCache::outdate(std::map<std::string, std::unique_ptr<SharedFetch>>::iterator fetch) {
  outdated_.push_back(std::move(fetch->second));
  under_way_.erase(fetch);
}

void ResultCache::changed(const mcp::Message& notification) {
  uint64_t forgotten = 0;
  for (auto fetch = under_way_.begin(); fetch != under_way_.end();) {
    auto next = std::next(fetch);
    const core::UpstreamRequest& like = fetch->second->like();
    if (concerns(notification, like.method, like.message.text(Field::params_uri))) outdate(fetch);
    fetch = next;
  }
  // Searches only affected subjects: a server may send changes all the time.
  const bool one = mcp::method_of(notification.method()) == Method::resources_updated;
  const std::string uri = one ? notification.text(Field::params_uri) : std::string();
  for (Method method : kKept) {
    if (!concerns(notification, method, uri)) continue;
    if (changes_) changes_->told(method, uri);
    auto at = by_subject_.lower_bound(Subject(method, uri));
    while (at != by_subject_.end() && at->first.first == method && (!one || at->first.second == uri)) {
      ++forgotten;
      forget((at++)->second);
    }
  }
  log_forgotten(notification.method(), forgotten);
}

// `what`: the triggering message.
void ResultCache::log_forgotten(std::string_view what, uint64_t results) const {
  if (results > 0)
    log::write(log::Level::debug, "cache.forgot",
               {{"upstream", server_.name}, {"what", std::string(what)}, {"results", results}});
}

// ---- Lineward's own listens ----

void ResultCache::discovered(const mcp::Message& result) {
  core::Tells told = tells_of(result);
  if (told.any()) tells_ = told;
}

// Opens a listen for a cached list that may change while no client listens.
void ResultCache::watch(Entry& entry, const core::UpstreamRequest& like) {
  const core::Tells known = inner_->facts().tells;
  core::Tells tells = known.any() ? known : tells_;
  bool can = is_list(like.method) && tells.any() && inner_->era() == mcp::Era::modern &&
             server_.isolation != config::Isolation::call &&
             like.message.raw(Field::meta_client_info).size() <= kMaxKeyBytes;
  if (!can) return;
  const std::string view = view_of(like);
  auto& slot = watches_[view];
  if (!slot) {
    size_t most = kMaxWatches;
    if (!server_.url.empty()) most = std::min<size_t>(most, server_.limits.max_connections / kWatchShare);
    if (watches_.size() > most) {
      watches_.erase(view);
      return;
    }
    slot = std::make_unique<CacheWatch>(
        loop_, watch_request(like, tells), [this, view] { unwatched(view); },
        [this, view] { watch_over(view); });
    // Entries of an earlier watch, which was refused.
    for (const Entry& kept : entries_) {
      if (kept.view == view) slot->hold(kept.until);
    }
    // Deferred: an answer is on the stack.
    loop_.defer(lifetime_, [this, view] {
      auto found = !stopping_ ? watches_.find(view) : watches_.end();
      if (found != watches_.end() && !found->second->begun()) found->second->listen(*inner_);
    });
  }
  entry.view = view;
  slot->hold(entry.until);
}

std::string ResultCache::view_of(const core::UpstreamRequest& like) const {
  std::string view = json::compact(like.message.raw(Field::meta_client_capabilities)) + '\n';
  view += like.message.raw(Field::meta_protocol_version);
  return view + '\n' + asker_of(like);
}

// Changes are no longer received, or were not until now: cached entries and results in flight may be
// outdated.
void ResultCache::unwatched(const std::string& view) {
  for (auto fetch = under_way_.begin(); fetch != under_way_.end();) {
    auto next = std::next(fetch);
    const core::UpstreamRequest& like = fetch->second->like();
    if (is_list(like.method) && view_of(like) == view) outdate(fetch);
    fetch = next;
  }
  uint64_t forgotten = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto next = std::next(entry);
    if (entry->view == view) {
      ++forgotten;
      forget(entry);
    }
    entry = next;
  }
  log_forgotten("subscriptions/listen", forgotten);
}

// No process is started only for a listen. If callers have processes of their own, the one just used is
// running.
bool ResultCache::may_listen_again(const CacheWatch& watch) const {
  if (inner_->era() != mcp::Era::modern) return false;
  if (!server_.url.empty()) return true;
  const bool may_be_asked = config::is_of_all_callers(server_.isolation) || watch.has_stood();
  return may_be_asked && !inner_->status().processes.empty();
}

// Lists that were cached after its refusal or end may still be kept, without a listen since then.
void ResultCache::watch_over(const std::string& view) {
  auto found = watches_.find(view);
  if (found == watches_.end()) return;
  CacheWatch& watch = *found->second;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto next = std::next(entry);
    if (entry->view == view && loop_.now() >= entry->until) forget(entry);
    entry = next;
  }
  if (watch.holds() && may_listen_again(watch)) return watch.listen_again(*inner_);
  // For a server without an acknowledged listen only the time to live counts, until the next cached list.
  if (watch.holds() && watch.has_stood()) unwatched(view);
  loop_.retire(std::move(found->second));
  watches_.erase(found);
}

}  // namespace lineward::upstream

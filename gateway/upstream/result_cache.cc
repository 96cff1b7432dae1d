#include "upstream/result_cache.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_splice.h"
#include "base/log.h"
#include "upstream/http_headers.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Nothing is kept longer, whatever the server says.
constexpr int64_t kLongestMs = 24ll * 3600 * 1000;
// Not counted in the bytes of a result, but there.
constexpr uint64_t kEntryBytes = 512;

int64_t ttl_of(const mcp::Message& result) {
  std::string_view raw = result.raw(Field::result_ttl_ms);
  int64_t value = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  bool whole = !raw.empty() && error == std::errc() && end == raw.data() + raw.size();
  return whole ? std::clamp<int64_t>(value, 0, kLongestMs) : 0;
}

bool is_kept(Method method) {
  switch (method) {
    case Method::server_discover:
    case Method::tools_list:
    case Method::prompts_list:
    case Method::resources_list:
    case Method::resources_templates_list:
    case Method::resources_read: return true;
    default: return false;
  }
}

uint64_t size_of(const std::string& key, const mcp::Message& result) {
  return result.bytes().size() + key.size() + kEntryBytes;
}

// Without `_meta`: who asks, in what revision and with what capabilities stands in the key by itself.
std::string params_of(const mcp::Message& request) {
  if (!request.has(Field::params)) return {};
  std::string_view params = request.raw(Field::params);
  if (!request.has(Field::params_meta)) return json::compact(params);
  json::Splice splice = request.splice();
  splice.remove_member(request.at(Field::params), request.key_at(Field::params_meta),
                       request.at(Field::params_meta));
  auto changed = mcp::Message::parse(splice.apply());
  return changed ? json::compact(changed->raw(Field::params)) : json::compact(params);
}

}  // namespace

// ---- one caller's share
// -----------------------------------------------------------------------------------------------

CacheLease::~CacheLease() {
  *alive_ = false;
  if (!live()) return;
  log::write(log::Level::error, "bug.call_destroyed_alive", {{"upstream", cache_.name()}});
  cancel("internal error");
}

void CacheLease::cancel(std::string_view why) {
  if (!std::exchange(owner_, nullptr)) return;
  core::CancelReport report;  // others still want the answer, or it was in memory: nothing had to be sent
  if (SharedCall* shared = std::exchange(shared_, nullptr); shared != nullptr && shared->leave(*this)) {
    // Of the first one's call the transport tells itself what became of it.
    report.told =
        cache_.server().url.empty() ? core::CancelTold::notification : core::CancelTold::stream_closed;
    bool first = shared->tag() == request_.tag;
    cache_.left(*shared, why);
    if (first) return;
  }
  core::upstream_stats(cache_.name()).cancel_settled(request_.tag, report);
}

// ---- the call
// -----------------------------------------------------------------------------------------------------------

SharedCall::SharedCall(ResultCache& cache, std::string key, core::CallRequest like)
    : cache_(cache), key_(std::move(key)), like_(std::move(like)) {}

SharedCall::~SharedCall() {
  if (call_ && call_->live()) call_->cancel("the gateway is stopping");
}

std::optional<core::Failure> SharedCall::open() {
  auto call = cache_.inner().start(like_, *this);
  if (!call) return std::move(call.error());
  call_ = std::move(*call);
  return std::nullopt;
}

void SharedCall::join(CacheLease& lease) {
  lease.shared_ = this;
  leases_.push_back(&lease);
  if (!phase_) return;
  // Not while it is being started.
  cache_.loop().defer([this, &lease, alive = lease.alive_] {
    if (*alive && lease.shared_ == this) tell_phase(lease);
  });
}

void SharedCall::tell_phase(CacheLease& lease) {
  if (lease.live() && phase_) lease.owner_->on_call_phase(*phase_);
}

bool SharedCall::leave(CacheLease& lease) {
  std::erase(leases_, &lease);
  return leases_.empty() && !closed_;
}

void SharedCall::close(std::string_view why) {
  closed_ = true;
  if (call_ && call_->live()) call_->cancel(why);
}

std::vector<CacheLease*> SharedCall::take_all() {
  closed_ = true;
  for (CacheLease* lease : leases_)
    lease->shared_ = nullptr;
  return std::exchange(leases_, {});
}

void SharedCall::on_call_phase(core::CallPhase phase) {
  phase_ = phase;
  for (CacheLease* lease : std::vector(leases_)) {
    if (lease->shared_ == this) tell_phase(*lease);
  }
}

void SharedCall::on_call_message(mcp::Message message) {
  bool final = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (!final) return;  // without token and level there is nothing that belongs to this call
  if (message.kind() == mcp::MessageKind::result) cache_.keep(*this, message);
  // A callback may end another caller's exchange, and its lease with it.
  std::vector<std::pair<CacheLease*, std::shared_ptr<bool>>> told;
  for (CacheLease* lease : take_all())
    told.emplace_back(lease, lease->alive_);
  cache_.over(*this);
  for (auto& [lease, alive] : told) {
    if (!*alive || !lease->live()) continue;
    std::exchange(lease->owner_, nullptr)->on_call_message(message);
  }
}

void SharedCall::on_call_failed(const core::Failure& failure) {
  std::vector<std::pair<CacheLease*, std::shared_ptr<bool>>> told;
  for (CacheLease* lease : take_all())
    told.emplace_back(lease, lease->alive_);
  cache_.over(*this);
  for (auto& [lease, alive] : told) {
    if (!*alive || !lease->live()) continue;
    std::exchange(lease->owner_, nullptr)->on_call_failed(failure);
  }
}

// ---- the cache
// ----------------------------------------------------------------------------------------------------------

ResultCache::ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server)
    : loop_(loop), inner_(std::move(inner)), server_(server), stats_(core::upstream_stats(server.name)) {}

ResultCache::~ResultCache() {
  for (auto& [key, shared] : under_way_)
    shared->close("the gateway is stopping");
}

void ResultCache::stop(std::function<void()> done) {
  stopping_ = true;
  inner_->stop(std::move(done));
}

void ResultCache::reconfigured() {
  inner_->reconfigured();
  while (!entries_.empty() && (!server_.cache.enabled || bytes_ > server_.cache.max_bytes))
    forget(std::prev(entries_.end()));
}

bool ResultCache::may_keep(const core::CallRequest& request) const {
  const mcp::Message& message = request.message;
  bool plain = !message.has(Field::meta_progress_token) && !message.has(Field::meta_log_level) &&
               !message.has(Field::params_input_responses) && !message.has(Field::params_request_state) &&
               !message.has(Field::params_task);
  if (!server_.cache.enabled || stopping_ || request.client_era != mcp::Era::modern || !plain) return false;
  // A legacy server may ask its client something while it reads: that is one caller's business.
  return is_kept(request.method) && (!mcp::may_ask(request.method) || inner_->era() == mcp::Era::modern);
}

std::string ResultCache::key_of(const core::CallRequest& request, bool everybodys) const {
  const mcp::Message& message = request.message;
  std::string key = message.method();
  key += '\n';
  key += message.raw(Field::meta_protocol_version);
  key += '\n' + json::compact(message.raw(Field::meta_client_capabilities)) + '\n';
  key += params_of(message);
  if (everybodys) return key + "\neverybody";
  key += "\nof\n" + request.scope.principal + '\n' + request.scope.session + '\n' + request.scope.affinity +
         '\n';
  key += identity_of(forwarded_headers(server_, request.headers));
  return key;
}

Result<std::unique_ptr<core::Call>, core::Failure> ResultCache::start(core::CallRequest request,
                                                                      core::CallOwner& owner) {
  if (!may_keep(request)) return inner_->start(std::move(request), owner);
  std::string key = key_of(request, false);
  auto kept = find(key);
  if (kept == entries_.end() && server_.cache.trust_public) kept = find(key_of(request, true));
  if (kept != entries_.end()) {
    ++stats_.cache_hits;
    return answer(*kept, std::move(request), owner);
  }
  SharedCall* shared = nullptr;
  if (auto found = under_way_.find(key); found != under_way_.end()) {
    ++stats_.cache_shared;
    shared = found->second.get();
  } else {
    ++stats_.cache_misses;
    auto made = std::make_unique<SharedCall>(*this, key, request);
    if (auto failure = made->open()) return Unexpected<core::Failure>{std::move(*failure)};
    asked_at_[made.get()] = changes_;
    shared = under_way_.emplace(key, std::move(made)).first->second.get();
  }
  auto lease = std::make_unique<CacheLease>(*this, std::move(request), owner);
  shared->join(*lease);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(lease));
}

// From memory: with what is left of its time.
std::unique_ptr<core::Call> ResultCache::answer(const Entry& entry, core::CallRequest request,
                                                core::CallOwner& owner) {
  int64_t age = (loop_.now() - entry.kept_at).count();
  json::Splice splice = entry.result.splice();
  splice.replace(entry.result.at(Field::result_ttl_ms),
                 std::to_string(std::max<int64_t>(0, entry.ttl_ms - age)));
  auto made = mcp::Message::parse(splice.apply());
  auto lease = std::make_unique<CacheLease>(*this, std::move(request), owner);
  auto message = std::make_shared<mcp::Message>(made ? std::move(*made) : entry.result);
  loop_.defer([asker = lease.get(), alive = lease->alive_, message] {
    if (!*alive || !asker->live()) return;
    std::exchange(asker->owner_, nullptr)->on_call_message(std::move(*message));
  });
  return lease;
}

void ResultCache::left(SharedCall& shared, std::string_view why) {
  shared.close(why);
  over(shared);
}

void ResultCache::over(SharedCall& shared) {
  asked_at_.erase(&shared);
  auto found = under_way_.find(shared.key());
  if (found == under_way_.end() || found->second.get() != &shared) return;
  // It may be on the stack.
  loop_.retire(std::move(found->second));
  under_way_.erase(found);
}

ResultCache::Entries::iterator ResultCache::find(const std::string& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return entries_.end();
  auto entry = found->second;
  if (loop_.now() >= entry->until) {
    forget(entry);
    return entries_.end();
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry;
}

void ResultCache::forget(Entries::iterator entry) {
  bytes_ -= size_of(entry->key, entry->result);
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void ResultCache::keep(const SharedCall& shared, const mcp::Message& result) {
  int64_t ttl = ttl_of(result);
  auto asked = asked_at_.find(&shared);
  bool complete = !result.has(Field::result_type) || result.text(Field::result_type) == "complete";
  bool current = asked != asked_at_.end() && asked->second == changes_;
  if (ttl == 0 || !complete || !current || stopping_) return;
  bool everybodys = server_.cache.trust_public && result.text(Field::result_cache_scope) == "public";
  std::string key = key_of(shared.like(), everybodys);
  uint64_t size = size_of(key, result);
  if (size > server_.cache.max_bytes) return;
  if (auto before = by_key_.find(key); before != by_key_.end()) forget(before->second);
  Entry& entry = entries_.emplace_front();
  entry.key = std::move(key);
  entry.method = shared.like().method;
  if (entry.method == Method::resources_read) entry.uri = shared.like().message.text(Field::params_uri);
  entry.result = result;
  entry.kept_at = loop_.now();
  entry.ttl_ms = ttl;
  entry.until = loop_.now() + milliseconds(ttl);
  entry.held.set(size);
  bytes_ += size;
  by_key_[entry.key] = entries_.begin();
  while (bytes_ > server_.cache.max_bytes)
    forget(std::prev(entries_.end()));
}

void ResultCache::changed(const mcp::Message& notification) {
  auto concerns = [&](const Entry& entry) {
    switch (mcp::method_of(notification.method())) {
      case Method::tools_list_changed: return entry.method == Method::tools_list;
      case Method::prompts_list_changed: return entry.method == Method::prompts_list;
      case Method::resources_list_changed:
        return entry.method == Method::resources_list || entry.method == Method::resources_templates_list;
      case Method::resources_updated:
        return entry.method == Method::resources_read && entry.uri == notification.text(Field::params_uri);
      // A listen that was opened again: what was missed meanwhile is not known.
      case Method::subscriptions_acknowledged: return entry.method != Method::server_discover;
      default: return false;
    }
  };
  ++changes_;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto next = std::next(entry);
    if (concerns(*entry)) forget(entry);
    entry = next;
  }
}

}  // namespace lineward::upstream

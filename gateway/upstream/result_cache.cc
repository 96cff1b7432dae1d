#include "upstream/result_cache.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_splice.h"
#include "mcp/cache_hints.h"
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

// The share of one who is answered from memory.
class KeptAnswer final : public Lease {
 public:
  KeptAnswer(net::Loop& loop, const config::Server& server, core::CallRequest request, core::CallOwner& owner,
             mcp::Message answer)
      : Lease(server, std::move(request), owner),
        answer_(std::move(answer)),
        later_(
            loop, [](void* self) { static_cast<KeptAnswer*>(self)->tell(); }, this) {
    later_.schedule();
  }

 private:
  void tell() {
    if (live()) take_owner()->on_call_message(std::move(answer_));
  }

  mcp::Message answer_;
  net::Deferred later_;
};

}  // namespace

// ---- the call ----

SharedFetch::SharedFetch(ResultCache& cache, std::string key, core::CallRequest like)
    : SharedCall(cache.loop(), cache.inner(), std::move(key), std::move(like)), cache_(cache) {}

void SharedFetch::on_call_message(mcp::Message message) {
  bool final = message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
  if (!final) return;  // without token and level there is nothing that belongs to this call
  if (message.kind() == mcp::MessageKind::result) cache_.keep(*this, message);
  over();  // who asks while this is told asks anew
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

ResultCache::ResultCache(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server)
    : PassingUpstream(std::move(inner)),
      loop_(loop),
      server_(server),
      stats_(core::upstream_stats(server.name)) {}

ResultCache::~ResultCache() {
  for (auto& [key, shared] : under_way_)
    shared->close("the gateway is stopping");
}

void ResultCache::reconfigured() {
  PassingUpstream::reconfigured();
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
  return mcp::has_cache_hints(request.method) &&
         (!mcp::may_ask(request.method) || inner_->era() == mcp::Era::modern);
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

Result<std::unique_ptr<core::Call>, core::Failure> ResultCache::start(core::CallRequest&& request,
                                                                      core::CallOwner& owner) {
  if (!may_keep(request)) return inner_->start(std::move(request), owner);
  std::string key = key_of(request, false);
  auto kept = find(key);
  if (kept == entries_.end() && server_.cache.trust_public) kept = find(key_of(request, true));
  if (kept != entries_.end()) {
    ++stats_.cache_hits;
    return answer(*kept, std::move(request), owner);
  }
  SharedFetch* shared = nullptr;
  if (auto found = under_way_.find(key); found != under_way_.end()) {
    ++stats_.cache_shared;
    shared = found->second.get();
  } else {
    ++stats_.cache_misses;
    auto made = std::make_unique<SharedFetch>(*this, key, request);
    if (auto failure = made->open()) return Unexpected<core::Failure>{std::move(*failure)};
    asked_at_[made.get()] = changes_;
    shared = under_way_.emplace(key, std::move(made)).first->second.get();
  }
  auto lease = std::make_unique<Lease>(server_, std::move(request), owner);
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
  return std::make_unique<KeptAnswer>(loop_, server_, std::move(request), owner,
                                      made ? std::move(*made) : mcp::Message(entry.result));
}

void ResultCache::over(SharedFetch& shared) {
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

void ResultCache::keep(const SharedFetch& shared, const mcp::Message& result) {
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

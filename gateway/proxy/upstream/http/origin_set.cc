#include "proxy/upstream/http/origin_set.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/log/log.h"
#include "proxy/upstream/http_client/http_proxy.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A weight is a multiple of this: so an origin that has just come back has a part of it.
constexpr uint32_t kWhole = 100;
constexpr milliseconds kReapEvery{1000};
constexpr milliseconds kLeastResolve{1000};

uint64_t random_seed() {
  uint64_t seed = 0;
  LW_CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed);
  return seed | 1;
}

std::string name_of(const HttpUrl& url, const std::string& address) {
  if (!url.unix_path.empty()) return url.unix_path;
  if (address.empty()) return fmt::format("{}:{}", url.host, url.port);
  const bool is_v6 = address.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", address, url.port) : fmt::format("{}:{}", address, url.port);
}

// RFC 9110 10.2.3: seconds, or a date in the preferred form.
std::optional<milliseconds> delay_of(std::string_view value) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_whole = end == value.data() + value.size();
  if (is_whole && error == std::errc::result_out_of_range) number = UINT32_MAX;
  if (is_whole && error != std::errc::invalid_argument) return seconds(number);
  std::tm date{};
  const std::string text(value.substr(0, 64));
  const char* rest = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const std::time_t left = timegm(&date) - std::time(nullptr);
  return seconds(std::clamp<std::time_t>(left, 0, UINT32_MAX));
}

}  // namespace

OriginSet::OriginSet(net::Loop& loop, const config::Server& server, const SharedPart& shared,
                     net::ResolverOptions names)
    : loop_(loop),
      server_(server),
      shared_(shared),
      names_options_(std::move(names)),
      several_(!server.urls.empty() || server.origins.resolve.count() > 0),
      book_(several_ || shared ? OriginBook::of(server.name) : nullptr),
      random_(random_seed()),
      reaper_(loop),
      resolve_again_(loop) {
  update(wanted());
  serves_ = true;
  resolve();
}

void OriginSet::use(RequestCredentials& credentials) {
  credentials_ = &credentials;
  for (const auto& origin : origins_)
    origin->pool().use(credentials);
}

void OriginSet::on_freed(std::function<void()> freed) {
  freed_ = std::move(freed);
  for (const auto& origin : origins_)
    origin->pool().on_freed(freed_);
}

// ---- which there are ----

std::vector<OriginSet::Wanted> OriginSet::wanted() {
  std::vector<config::OriginUrl> urls = server_.urls;
  if (urls.empty()) urls.push_back({server_.url});
  std::vector<Wanted> out;
  for (const config::OriginUrl& one : urls) {
    auto url = parse_http_url(one.url);
    if (!url) {
      invalid({}, url.error().text);
      continue;
    }
    add_wanted({one.url, std::move(*url), {}, one.weight, one.drain}, out);
  }
  if (out.empty() && !serves_) out.emplace_back();  // see `fault_`
  return out;
}

void OriginSet::add_wanted(Wanted one, std::vector<Wanted>& out) {
  const Name* name = server_.origins.resolve.count() > 0 ? find_name(one) : nullptr;
  if (name == nullptr || name->addresses.empty()) return out.push_back(std::move(one));
  for (const std::string& address : name->addresses)
    out.push_back({fmt::format("{} {}", one.key, address), one.url, address, one.weight, one.drains});
}

OriginSet::Name* OriginSet::find_name(const Wanted& one) {
  auto found =
      std::find_if(names_.begin(), names_.end(), [&](const auto& name) { return name->url == one.key; });
  if (found != names_.end()) return found->get();
  const auto options = pool_options(server_, one.url);
  if (!one.url.unix_path.empty() || !options || options->proxy) return nullptr;
  auto name = std::make_unique<Name>();
  name->url = one.key;
  name->resolver = std::make_unique<net::Resolver>(loop_, one.url.host, one.url.port, names_options_);
  if (!name->resolver->known().empty()) return nullptr;  // an address
  return names_.emplace_back(std::move(name)).get();
}

// A look-up that fails changes nothing.
void OriginSet::resolve() {
  if (names_.empty()) return;
  for (const auto& name : names_) {
    if (std::exchange(name->asked, true)) continue;
    name->resolver->ask([this, its = name.get()](const Result<net::Addresses>& found) {
      its->asked = false;
      if (found) resolved(*its, *found);
    });
  }
  resolve_again_.start(std::max<milliseconds>(server_.origins.resolve, kLeastResolve), [this] { resolve(); });
}

void OriginSet::resolved(Name& name, const net::Addresses& found) {
  std::vector<std::string> addresses;
  for (const net::Address& address : found) {
    std::string_view text = address.text;
    text = text.substr(0, text.rfind(':'));
    if (!text.empty() && text.front() == '[') text = text.substr(1, text.size() - 2);
    addresses.emplace_back(text);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  if (addresses.size() > kMost) addresses.resize(kMost);
  if (name.addresses == addresses) return;
  name.addresses = std::move(addresses);
  update(wanted());
}

void OriginSet::update(const std::vector<Wanted>& wanted) {
  const auto is_wanted = [&](const Origin& origin) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const Wanted& one) { return one.key == origin.key(); });
  };
  for (const auto& origin : origins_) {
    if (is_wanted(*origin) || origin->leaving || wanted.empty()) continue;
    origin->leaving = loop_.now();
    log::write(log::Level::info, "upstream.origin",
               {{"upstream", server_.name}, {"origin", origin->state().name}, {"state", "leaving"}});
  }
  for (const Wanted& one : wanted) {
    if (find(one.key) == nullptr) add(one);
    Origin* origin = find(one.key);
    if (origin == nullptr) continue;
    origin->leaving.reset();
    origin->weight = one.weight;
    origin->drains = one.drains;
  }
  reap();
}

Origin* OriginSet::find(const std::string& key) const {
  auto found =
      std::find_if(origins_.begin(), origins_.end(), [&](const auto& one) { return one->key() == key; });
  return found == origins_.end() ? nullptr : found->get();
}

void OriginSet::add(const Wanted& wanted) {
  uint64_t slots = 0;
  for (const auto& origin : origins_)
    slots |= origin->bit();
  if (~slots == 0) {
    return log::write(log::Level::warn, "upstream.origin",
                      {{"upstream", server_.name},
                       {"origin", name_of(wanted.url, wanted.address)},
                       {"state", "left_out"},
                       {"why", fmt::format("there are {} origins already", kMost)}});
  }
  if (wanted.url.tls && !tls_) {
    auto context = net::TlsContext::for_client({server_.ca_file, server_.client_cert, server_.client_key});
    if (context) {
      tls_ = *context;
    } else {
      invalid(name_of(wanted.url, wanted.address), context.error().text);
      if (serves_) return;
    }
  }
  PoolOptions its;
  if (auto options = pool_options(server_, wanted.url)) {
    its = std::move(*options);
    its.stats = &metrics::upstream_stats(server_.name);
    its.worker = shared_.worker;
    its.workers = shared_.workers;
    its.take_limits(server_);
  } else {
    invalid(name_of(wanted.url, wanted.address), options.error().text);
    if (serves_) return;
  }
  its.useless = useless_;
  its.address = wanted.address;
  const std::string name = name_of(wanted.url, wanted.address);
  auto state = book_ ? book_->state(wanted.key, name) : std::make_shared<OriginState>(name);
  if (serves_) state->is_new(loop_.now());
  auto origin = std::make_unique<Origin>(*this, static_cast<uint32_t>(std::countr_one(slots)), wanted.key,
                                         wanted.url, std::move(state), !several_);
  origin->open(loop_, wanted.url.tls ? tls_ : nullptr, std::move(its));
  if (credentials_ != nullptr) origin->pool().use(*credentials_);
  if (freed_) origin->pool().on_freed(freed_);
  origins_.push_back(std::move(origin));
}

// At the start no call is possible; after a reload only this origin is left out.
void OriginSet::invalid(const std::string& name, const std::string& why) {
  if (!serves_ && fault_.empty()) fault_ = why;
  if (!serves_) return;
  log::write(log::Level::warn, "upstream.origin",
             {{"upstream", server_.name}, {"origin", name}, {"state", "left_out"}, {"why", why}});
}

void OriginSet::reconfigure() {
  for (const auto& origin : origins_)
    origin->pool().set_limits(server_);
  if (!several_) return;
  std::erase_if(names_, [this](const auto& name) {
    return std::none_of(server_.urls.begin(), server_.urls.end(),
                        [&](const config::OriginUrl& one) { return one.url == name->url; }) &&
           name->url != server_.url;
  });
  update(wanted());
  resolve();
}

// Frees removed origins that nothing uses.
void OriginSet::reap() {
  bool again = false;
  for (auto origin = origins_.begin(); origin != origins_.end();) {
    if ((*origin)->leaving) (*origin)->pool().close_idle();
    if (!(*origin)->leaving || !(*origin)->is_unused() || origins_.size() == 1) {
      again = again || (*origin)->leaving;
      ++origin;
      continue;
    }
    loop_.retire(std::move(*origin));
    origin = origins_.erase(origin);
  }
  if (again && !reaper_.running()) reaper_.start(kReapEvery, [this] { reap(); });
}

void OriginSet::close_idle() {
  for (const auto& origin : origins_)
    origin->pool().close_idle();
}

// ---- which one a call gets ----

uint32_t OriginSet::share_of(const Origin& origin) const {
  const milliseconds now = loop_.now();
  if (origin.is_avoided(now) || origin.pool().full()) return 0;
  const uint32_t whole = origin.weight * kWhole;
  const milliseconds since = origin.state().since(), slow = server_.origins.slow_start;
  // Another worker may have set it by a later clock.
  const milliseconds age = std::max(now - since, milliseconds(0));
  if (since.count() == 0 || slow.count() == 0 || age >= slow) return whole;
  const auto part =
      static_cast<uint64_t>(whole) * static_cast<uint64_t>(age.count()) / static_cast<uint64_t>(slow.count());
  return std::max(static_cast<uint32_t>(part), std::max(whole / 10, 1u));
}

size_t OriginSet::draw(const std::array<uint32_t, kMost>& shares, uint32_t total) {
  random_ ^= random_ << 13;  // xorshift64
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  auto at = static_cast<uint32_t>((random_ >> 32) % total);
  size_t i = 0;
  for (; at >= shares[i]; ++i)
    at -= shares[i];
  return i;
}

Origin* OriginSet::choose(uint64_t tried) {
  std::array<uint32_t, kMost> shares{};
  uint32_t total = 0;
  for (size_t i = 0; i < origins_.size(); ++i)
    total += shares[i] = (origins_[i]->bit() & tried) == 0 ? share_of(*origins_[i]) : 0;
  // Better one that fails often than none; but a call waits for one that is only busy.
  const bool waits = total == 0 && tried == 0 && has_healthy();
  for (size_t i = 0; total == 0 && !waits && i < origins_.size(); ++i) {
    const Origin& origin = *origins_[i];
    const bool may_be = (origin.bit() & tried) == 0 && !origin.is_closed() && !origin.pool().full() &&
                        !origin.state().is_left_alone(loop_.now());
    if (may_be) return origins_[i].get();
  }
  if (total == 0) return nullptr;
  const size_t first = draw(shares, total);
  const uint64_t share = std::exchange(shares[first], 0);
  if (share == total) return origins_[first].get();
  const size_t second = draw(shares, total - static_cast<uint32_t>(share));
  const uint64_t load = origins_[first]->state().in_flight, other_load = origins_[second]->state().in_flight;
  return origins_[load * shares[second] > other_load * share ? second : first].get();
}

core::Failure OriginSet::refusal(const Origin* only) const {
  std::optional<milliseconds> left;
  for (const auto& origin : origins_) {
    if (only != nullptr ? origin.get() != only : origin->is_closed()) continue;
    const milliseconds its = origin->state().alone_for(loop_.now());
    if (its.count() > 0) left = std::min(left.value_or(its), its);
  }
  if (!left) {
    return {EndReason::queue_full,
            fmt::format("all origins of {} are drained, or have no connection free", server_.name)};
  }
  const int64_t whole = (left->count() + 999) / 1000;
  core::Failure failure{
      EndReason::circuit_open,
      fmt::format("{} is left alone for another {} s, as it has asked (Retry-After)", server_.name, whole)};
  failure.retry_after_ms = left->count();
  failure.headers = {{"Retry-After", std::to_string(whole)}};
  return failure;
}

bool OriginSet::has_closed() const {
  return several_ &&
         std::any_of(origins_.begin(), origins_.end(), [](const auto& one) { return one->is_closed(); });
}

bool OriginSet::has_healthy() const {
  return std::any_of(origins_.begin(), origins_.end(),
                     [&](const auto& one) { return !one->is_avoided(loop_.now()); });
}

// Without an origin that may get a call there is nothing to wait for, and the call is refused.
bool OriginSet::full() const {
  if (!several_) return origins_.front()->pool().full();
  const milliseconds now = loop_.now();
  const bool healthy = has_healthy();
  bool any = false;
  for (const auto& one : origins_) {
    const bool may_be =
        healthy ? !one->is_avoided(now) : !one->is_closed() && !one->state().is_left_alone(now);
    if (may_be && !one->pool().full()) return false;
    any |= may_be;
  }
  return any;
}

bool OriginSet::has_stream_room() const {
  return std::any_of(origins_.begin(), origins_.end(),
                     [](const auto& one) { return one->pool().streams().has_room(); });
}

// ---- how they do ----

void OriginSet::on_origin_failed(Origin& origin, std::string_view why) {
  if (!several_) return;
  std::vector<const OriginState*> usable;
  for (const auto& one : origins_) {
    if (!one->is_closed()) usable.push_back(&one->state());
  }
  const milliseconds out = book_->failed(origin.state(), usable, server_.origins, loop_.now());
  if (out.count() == 0) return;
  log::write(log::Level::warn, "upstream.origin",
             {{"upstream", server_.name},
              {"origin", origin.state().name},
              {"state", "ejected"},
              {"why", std::string(why)},
              {"for_ms", out.count()}});
}

// A 429 may be about one client.
void OriginSet::on_origin_busy(Origin& origin, int status, std::string_view retry_after) {
  if (status == 429 && (personal_ || !server_.forward_headers.empty())) return;
  const auto asked = delay_of(retry_after);
  if (!asked || server_.origins.max_retry_after.count() == 0) return;
  const milliseconds wait = std::min(*asked, server_.origins.max_retry_after);
  if (wait.count() == 0) return;
  const bool is_news = !origin.state().is_left_alone(loop_.now());
  origin.state().leave_alone_until(loop_.now() + wait);
  if (!is_news) return;
  log::write(log::Level::warn, "upstream.origin",
             {{"upstream", server_.name},
              {"origin", origin.state().name},
              {"state", "left_alone"},
              {"why", fmt::format("answered HTTP {} with Retry-After", status)},
              {"for_ms", wait.count()}});
}

std::vector<Origin*> OriginSet::checked() const {
  std::vector<Origin*> out;
  for (const auto& origin : origins_) {
    if (!origin->leaving && !origin->state().is_left_alone(loop_.now())) out.push_back(origin.get());
  }
  return out;
}

std::vector<core::UpstreamStatus::Origin> OriginSet::status() const {
  using Shown = core::UpstreamStatus::Origin;
  std::vector<Shown> out;
  if (!several_) return out;
  const milliseconds now = loop_.now();
  for (const auto& origin : origins_) {
    const OriginState& state = origin->state();
    Shown one;
    one.name = state.name;
    one.weight = origin->weight;
    one.in_flight = state.in_flight;
    one.sessions = state.sessions;
    one.calls = state.calls;
    one.failures = state.failures;
    one.ejections = state.ejections;
    const milliseconds slow = state.since() + server_.origins.slow_start;
    if (origin->leaving) {
      one.state = Shown::State::leaving;
    } else if (origin->is_closed()) {
      one.state = Shown::State::draining;
    } else if (state.is_out(now)) {
      one.state = Shown::State::ejected;
      one.left = state.out_for(now);
    } else if (state.is_left_alone(now)) {
      one.state = Shown::State::left_alone;
      one.left = state.alone_for(now);
    } else if (state.since().count() > 0 && now < slow) {
      one.state = Shown::State::slow_start;
      one.left = slow - now;
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace lineward::upstream

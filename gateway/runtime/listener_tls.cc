#include "runtime/listener_tls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "config/reader/replicas.h"
#include "foundation/base/regular_file.h"
#include "foundation/log/log.h"

namespace lineward::runtime {
namespace {

using Clock = std::chrono::system_clock;
using std::chrono::milliseconds;

constexpr size_t kMaxAuthorities = 1 << 20;
// Each watched file costs a stat() every two seconds. Further files are read again by a reload.
constexpr size_t kMaxWatched = 64;
// A certificate and its key are written one after the other.
constexpr milliseconds kSecondLook{2000};
constexpr auto kSelfSignedLasts = std::chrono::hours(365 * 24);
constexpr auto kSoon = std::chrono::hours(14 * 24);
constexpr milliseconds kWarnEvery = std::chrono::hours(24);

// Null: there is no such listener.
const config::Listen* find_listen(const config::Config& config, const std::string& name) {
  if (name.empty()) return &config.listen;
  auto found = std::find_if(config.listeners.begin(), config.listeners.end(),
                            [&](const config::FurtherListen& one) { return one.name == name; });
  return found == config.listeners.end() ? nullptr : &found->listen;
}

}  // namespace

Result<ListenerTls::Made> ListenerTls::make(const config::Config& config) {
  const config::Listen* listen = find_listen(config, name_);
  Made made;
  if (listen == nullptr || !listen->tls.enabled() || listen->address == "stdio") return made;
  const config::ListenTls& tls = listen->tls;
  const std::string what = (name_.empty() ? "listen" : "listeners." + name_) + ".tls";
  net::TlsListenerOptions options;
  for (const config::ListenTls::Pair& pair : tls.pairs()) {
    for (const std::string& file : {pair.certificate, pair.key, pair.ocsp}) {
      if (!file.empty()) made.files.emplace_back(file, net::FileWatch::look(file));
    }
    auto read = net::Certificate::read({pair.certificate, pair.key, pair.ocsp});
    if (!read) return fail(what + ": " + read.error().text);
    options.certificates.push_back(std::move(*read));
  }
  if (options.certificates.empty()) {
    if (!self_signed_ || self_signed_->not_after() - Clock::now() < kSoon) {
      auto own = net::Certificate::self_signed(kSelfSignedLasts);
      if (!own) return fail(what + ".selfSigned: " + own.error().text);
      self_signed_ = std::move(*own);
    }
    options.certificates.push_back(self_signed_);
  }
  if (!tls.client_authorities.empty()) {
    made.files.emplace_back(tls.client_authorities, net::FileWatch::look(tls.client_authorities));
    auto pem = read_regular_file(tls.client_authorities, kMaxAuthorities);
    if (!pem || pem->empty())
      return fail(fmt::format("{}.clientCertificates: {}: {}", what, tls.client_authorities,
                              pem ? "the file is empty" : pem.error().text));
    options.client_authorities = std::move(*pem);
    options.client_required = tls.client_required;
  }
  options.min_version =
      tls.min_version == config::TlsMinimum::tls13 ? net::TlsVersion::tls13 : net::TlsVersion::tls12;
  if (listen->http2) options.protocols = {"h2", "http/1.1"};
  options.tickets = tickets_;
  if (!config.replicas.key_file.empty()) {
    auto keys = config::read_replica_keys(config.replicas.key_file);
    if (!keys) return fail("replicas.keyFile: " + keys.error().text);
    // A ticket of another listener is none: that one may ask for other client certificates.
    made.ticket_secrets = (*keys)->derived("tls tickets" + (name_.empty() ? "" : " " + name_));
  }
  auto listener = net::TlsListener::make(std::move(options));
  if (!listener) return fail(what + ": " + listener.error().text);
  made.listener = std::move(*listener);
  return made;
}

Status<> ListenerTls::prepare(const config::Config& config) {
  auto made = make(config);
  if (!made) return Unexpected<Error>{made.error()};
  next_ = std::move(*made);
  return Done{};
}

void ListenerTls::use() {
  last_fault_.clear();
  tickets_->share(std::exchange(next_.ticket_secrets, {}));
  current_->set(std::exchange(next_.listener, nullptr));
  files_ = std::exchange(next_.files, {});
  if (loop_ == nullptr) return;
  watch_files();
  warn();
}

void ListenerTls::watch(net::Loop& loop, const config::Config& config) {
  loop_ = &loop;
  config_ = &config;
  warning_ = std::make_unique<net::Timer>(loop);
  again_ = std::make_unique<net::Timer>(loop);
  watch_files();
  warn();
}

void ListenerTls::stop() {
  watches_.clear();
  warning_.reset();
  again_.reset();
  loop_ = nullptr;
}

void ListenerTls::watch_files() {
  again_->stop();
  // The caller may be a watch.
  for (auto& watch : std::exchange(watches_, {}))
    loop_->retire(std::move(watch));
  for (size_t i = 0; i < std::min(files_.size(), kMaxWatched); ++i) {
    const auto& [file, seen] = files_[i];
    watches_.push_back(std::make_unique<net::FileWatch>(
        *loop_, file, [this] { reread(false); }, seen));
  }
}

void ListenerTls::reread(bool again) {
  auto made = make(*config_);
  if (made) {
    next_ = std::move(*made);
    use();
    std::vector<std::string> names;
    for (const net::CertificatePtr& one : current_->get()->certificates())
      names.push_back(one->title());
    log::write(log::Level::info, "tls.loaded",
               {{"by", "watch"},
                {"certificates", fmt::format("{}", fmt::join(names, ","))},
                {"listener", shown_name()}});
    return;
  }
  if (!again) return again_->start(kSecondLook, [this] { reread(true); });
  if (made.error().text == last_fault_) return;
  last_fault_ = made.error().text;
  log::write(log::Level::error, "tls.rejected",
             {{"by", "watch"},
              {"why", last_fault_},
              {"in_effect", "the certificates before"},
              {"listener", shown_name()}});
}

void ListenerTls::warn() {
  warning_->stop();
  const net::TlsListenerPtr now = current_->get();
  if (!now) return;
  for (const net::CertificatePtr& one : now->certificates()) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(one->not_after() - Clock::now());
    if (left >= kSoon) continue;
    log::write(left.count() > 0 ? log::Level::warn : log::Level::error, "tls.expiring",
               {{"certificate", one->title()},
                {"file", one->source()},
                {"expires_in_s", left.count()},
                {"listener", shown_name()}});
  }
  warning_->start(kWarnEvery, [this] { warn(); });
}

// ---- all of them ----

ListenerTls& ListenersTls::of(const std::string& listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& one = all_[listener];
  if (!one) {
    one = std::make_unique<ListenerTls>(listener);
    if (loop_ != nullptr) one->watch(*loop_, *config_);
  }
  return *one;
}

std::shared_ptr<const net::CurrentTls> ListenersTls::current(const std::string& listener) {
  return of(listener).current();
}

Status<> ListenersTls::prepare(const config::Config& config) {
  for (const config::FurtherListen& one : config.listeners)
    of(one.name);
  of({});
  for (auto& entry : all_) {
    if (auto prepared = entry.second->prepare(config); !prepared) return prepared;
  }
  return Done{};
}

void ListenersTls::use() {
  for (auto& entry : all_)
    entry.second->use();
}

void ListenersTls::watch(net::Loop& loop, const config::Config& config) {
  for (auto& entry : all_)
    entry.second->watch(loop, config);
  loop_ = &loop;
  config_ = &config;
}

void ListenersTls::stop() {
  for (auto& entry : all_)
    entry.second->stop();
  loop_ = nullptr;
}

}  // namespace lineward::runtime

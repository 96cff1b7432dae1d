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

}  // namespace

Result<ListenerTls::Made> ListenerTls::make(const config::Config& config) {
  const config::ListenTls& tls = config.listen.tls;
  Made made;
  if (!tls.enabled() || config.listen.address == "stdio") return made;
  net::TlsListenerOptions options;
  for (const config::ListenTls::Pair& pair : tls.pairs()) {
    for (const std::string& file : {pair.certificate, pair.key, pair.ocsp}) {
      if (!file.empty()) made.files.emplace_back(file, net::FileWatch::look(file));
    }
    auto read = net::Certificate::read({pair.certificate, pair.key, pair.ocsp});
    if (!read) return fail("listen.tls: " + read.error().text);
    options.certificates.push_back(std::move(*read));
  }
  if (options.certificates.empty()) {
    if (!self_signed_ || self_signed_->not_after() - Clock::now() < kSoon) {
      auto own = net::Certificate::self_signed(kSelfSignedLasts);
      if (!own) return fail("listen.tls.selfSigned: " + own.error().text);
      self_signed_ = std::move(*own);
    }
    options.certificates.push_back(self_signed_);
  }
  if (!tls.client_authorities.empty()) {
    made.files.emplace_back(tls.client_authorities, net::FileWatch::look(tls.client_authorities));
    auto pem = read_regular_file(tls.client_authorities, kMaxAuthorities);
    if (!pem || pem->empty())
      return fail(fmt::format("listen.tls.clientCertificates: {}: {}", tls.client_authorities,
                              pem ? "the file is empty" : pem.error().text));
    options.client_authorities = std::move(*pem);
    options.client_required = tls.client_required;
  }
  options.min_version =
      tls.min_version == config::TlsMinimum::tls13 ? net::TlsVersion::tls13 : net::TlsVersion::tls12;
  if (config.listen.http2) options.protocols = {"h2", "http/1.1"};
  options.tickets = tickets_;
  if (!config.replicas.key_file.empty()) {
    auto keys = config::read_replica_keys(config.replicas.key_file);
    if (!keys) return fail("replicas.keyFile: " + keys.error().text);
    made.ticket_secrets = (*keys)->derived("tls tickets");
  }
  auto listener = net::TlsListener::make(std::move(options));
  if (!listener) return fail("listen.tls: " + listener.error().text);
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
               {{"by", "watch"}, {"certificates", fmt::format("{}", fmt::join(names, ","))}});
    return;
  }
  if (!again) return again_->start(kSecondLook, [this] { reread(true); });
  if (made.error().text == last_fault_) return;
  last_fault_ = made.error().text;
  log::write(log::Level::error, "tls.rejected",
             {{"by", "watch"}, {"why", last_fault_}, {"in_effect", "the certificates before"}});
}

void ListenerTls::warn() {
  warning_->stop();
  const net::TlsListenerPtr now = current_->get();
  if (!now) return;
  for (const net::CertificatePtr& one : now->certificates()) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(one->not_after() - Clock::now());
    if (left >= kSoon) continue;
    log::write(left.count() > 0 ? log::Level::warn : log::Level::error, "tls.expiring",
               {{"certificate", one->title()}, {"file", one->source()}, {"expires_in_s", left.count()}});
  }
  warning_->start(kWarnEvery, [this] { warn(); });
}

}  // namespace lineward::runtime

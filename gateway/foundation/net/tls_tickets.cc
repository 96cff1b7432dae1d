#include "foundation/net/tls_tickets.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace lineward::net {
namespace {

TicketKeys::Secret derive(const TicketKeys::Secret& from, std::string_view purpose, int64_t period) {
  TicketKeys::Secret out{};
  const std::string text = fmt::format("lineward tls ticket {} {}", purpose, period);
  HMAC(EVP_sha256(), from.data(), static_cast<int>(from.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), nullptr);
  return out;
}

TicketKeys::Key derived_key(const TicketKeys::Secret& from, int64_t period) {
  TicketKeys::Key key;
  key.cipher = derive(from, "cipher", period);
  key.mac = derive(from, "mac", period);
  const TicketKeys::Secret name = derive(from, "name", period);
  std::copy_n(name.begin(), key.name.size(), key.name.begin());
  return key;
}

template <class Keys>
void forget(Keys& keys) {
  if (!keys.empty()) OPENSSL_cleanse(keys.data(), keys.size() * sizeof keys[0]);
  keys.clear();
}

}  // namespace

TicketKeys::~TicketKeys() {
  forget(keys_);
  forget(secrets_);
}

void TicketKeys::share(std::vector<Secret> secrets) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (secrets == secrets_) return forget(secrets);
  std::swap(secrets_, secrets);
  forget(secrets);
  forget(keys_);
  period_ = -1;
}

// Clocks of replicas differ a little, so the next period's derived keys open too.
bool TicketKeys::turn(Clock::time_point now) {
  const int64_t period =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count() / kLife.count();
  if (period == period_) return true;
  std::vector<Entry> next;
  for (const Secret& secret : secrets_) {
    for (const int64_t one : {period, period - 1, period + 1})
      next.push_back({one, derived_key(secret, one), one == period && &secret == secrets_.data()});
  }
  if (secrets_.empty()) {
    Entry fresh{period, {}, true};
    if (RAND_bytes(fresh.key.name.data(), static_cast<int>(fresh.key.name.size())) != 1 ||
        RAND_bytes(fresh.key.cipher.data(), static_cast<int>(fresh.key.cipher.size())) != 1 ||
        RAND_bytes(fresh.key.mac.data(), static_cast<int>(fresh.key.mac.size())) != 1)
      return false;
    next.push_back(fresh);
    for (const Entry& old : keys_) {
      if (old.period == period - 1) next.push_back({old.period, old.key, false});
    }
  }
  std::swap(keys_, next);
  forget(next);
  period_ = period;
  return true;
}

std::optional<TicketKeys::Key> TicketKeys::sealing(Clock::time_point now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!turn(now)) return std::nullopt;
  for (const Entry& one : keys_) {
    if (one.seals) return one.key;
  }
  return std::nullopt;
}

std::optional<TicketKeys::Found> TicketKeys::opening(std::string_view name, Clock::time_point now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!turn(now)) return std::nullopt;
  for (const Entry& one : keys_) {
    if (name.size() == one.key.name.size() && std::memcmp(name.data(), one.key.name.data(), name.size()) == 0)
      return Found{one.key, !one.seals};
  }
  return std::nullopt;
}

}  // namespace lineward::net

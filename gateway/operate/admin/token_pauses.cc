#include "operate/admin/token_pauses.h"

#include <algorithm>

#include "foundation/base/peer_address.h"
#include "operate/admin/console_logins.h"

namespace lineward::admin {
namespace {

using std::chrono::milliseconds;

std::string key_of(std::string_view peer, std::string_view token) {
  return address_of_peer(peer) + ' ' + ConsoleLogins::digest(token);
}

}  // namespace

milliseconds TokenPauses::left(std::string_view peer, std::string_view token, milliseconds now) const {
  const std::string key = key_of(peer, token);
  if (known_.count(key) > 0) return milliseconds(0);
  return std::max(addresses_.left(peer, now), tokens_.left_of(key, now));
}

void TokenPauses::failed(std::string_view peer, std::string_view token, milliseconds now) {
  const std::string key = key_of(peer, token);
  if (known_.erase(key) > 0) known_first_.remove(key);
  if (!tokens_.knows(key)) addresses_.failed(peer, now);
  tokens_.failed_of(key, now);
}

void TokenPauses::succeeded(std::string_view peer, std::string_view token) {
  std::string key = key_of(peer, token);
  if (known_.count(key) > 0) return;
  addresses_.succeeded(peer);
  if (known_.size() >= kMostKnown) {
    known_.erase(known_first_.front());
    known_first_.pop_front();
  }
  known_first_.push_back(key);
  known_.insert(std::move(key));
}

}  // namespace lineward::admin

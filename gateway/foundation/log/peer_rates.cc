#include "foundation/log/peer_rates.h"

#include <algorithm>
#include <utility>

#include "foundation/base/peer_address.h"

namespace lineward::log {
namespace {

// The beginning of a name identifies the peer; a peer may have chosen the rest.
constexpr size_t kMostOfName = 64;

struct OfThread {
  std::vector<PeerRates*> all;
  std::function<void()> wanted;
  bool asked = false;
};

OfThread& of_thread() {
  thread_local OfThread mine;
  return mine;
}

std::string spelled(const Field& field) {
  if (field.number) return std::to_string(field.value);
  const bool address = field.key == "remote" || field.key == "from";
  return address ? address_of_peer(field.text.substr(0, kMostOfName))
                 : std::string(field.text.substr(0, kMostOfName));
}

}  // namespace

PeerRates::PeerRates(std::initializer_list<std::string_view> keys, Tell tell)
    : keys_(keys), tell_(std::move(tell)) {
  of_thread().all.push_back(this);
}

PeerRates::~PeerRates() {
  std::erase(of_thread().all, this);
}

PeerRates::Entry& PeerRates::entry(std::string_view event, std::span<const Field> fields, Rate rate,
                                   std::chrono::milliseconds now) {
  std::vector<std::string> peer(keys_.size());
  std::string key(event);
  for (size_t at = 0; at < keys_.size() && !fields.empty(); ++at) {
    const auto named = [&](const Field& field) { return field.key == keys_[at]; };
    if (auto found = std::find_if(fields.begin(), fields.end(), named); found != fields.end())
      peer[at] = spelled(*found);
    key += '\0';
    key += peer[at];
  }
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
    return newest_first_.front();
  }
  if (by_key_.size() >= kMostPeers) {
    Entry& oldest = newest_first_.back();
    tell(oldest);
    by_key_.erase(oldest.key);
    newest_first_.pop_back();
  }
  newest_first_.push_front({std::move(key), std::string(event), std::move(peer), {}, rate.burst, now, 0});
  by_key_[newest_first_.front().key] = newest_first_.begin();
  return newest_first_.front();
}

bool PeerRates::take(Entry& from, Level level, Rate rate, std::chrono::milliseconds now) {
  const double gone = std::chrono::duration<double>(now - from.at).count();
  from.tokens = std::min(rate.burst, from.tokens + std::max(gone, 0.0) * rate.per_second);
  from.at = now;
  if (from.tokens >= 1) {
    from.tokens -= 1;
    if (!of_thread().wanted) tell(from);
    return true;
  }
  from.level = level;
  if (from.left_out++ == 0 && of_thread().wanted && !std::exchange(of_thread().asked, true))
    of_thread().wanted();
  return false;
}

bool PeerRates::allows(Level level, std::string_view event, std::span<const Field> fields, Rate peer,
                       Rate all, std::chrono::milliseconds now) {
  return take(entry(event, fields, peer, now), level, peer, now) &&
         take(entry(event, {}, all, now), level, all, now);
}

void PeerRates::tell(Entry& entry) {
  if (entry.left_out > 0) tell_(entry.level, entry.event, entry.peer, std::exchange(entry.left_out, 0));
}

void PeerRates::tell() {
  for (Entry& one : newest_first_)
    tell(one);
}

void when_left_out(std::function<void()> wanted) {
  of_thread().wanted = std::move(wanted);
  of_thread().asked = false;
}

void tell_left_out() {
  of_thread().asked = false;
  for (PeerRates* rates : of_thread().all)
    rates->tell();
}

}  // namespace lineward::log

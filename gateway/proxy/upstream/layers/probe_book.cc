#include "proxy/upstream/layers/probe_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace lineward::upstream {

using State = ProbeOutcome::State;

ProbeBook& ProbeBook::of_process() {
  static ProbeBook* const kBook = new ProbeBook;  // outlives every thread
  return *kBook;
}

Status<> ProbeBook::begin(const Caller& caller, const std::string& nonce, std::chrono::nanoseconds now) {
  std::lock_guard<std::mutex> lock(mutex_);
  forget_old(now);
  if (Entry* known = entry(caller.principal, nonce)) {
    ++known->outcome.arrivals;
    return fail("a stream of this nonce is here already: this request came twice");
  }
  const auto open = [&](bool of_all) {
    return std::count_if(entries_.begin(), entries_.end(), [&](const Entry& one) {
      return one.outcome.state == State::running && (of_all || one.caller.share == caller.share);
    });
  };
  if (open(true) >= static_cast<ptrdiff_t>(kStreams) ||
      open(false) >= static_cast<ptrdiff_t>(kStreamsOfCaller))
    return fail(fmt::format("at most {} streams of lineward/probe at once, {} of one caller; try again later",
                            kStreams, kStreamsOfCaller));
  make_room(caller);
  entries_.push_back({caller, nonce, {}});
  entries_.back().outcome.began = now;
  note_held();
  return Done{};
}

void ProbeBook::end(const Caller& caller, std::string_view nonce, State state, mcp::EndReason reason,
                    std::chrono::nanoseconds now) {
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* known = entry(caller.principal, nonce);
  if (known == nullptr || known->outcome.state != State::running) return;
  known->outcome.state = state;
  known->outcome.reason = reason;
  known->outcome.ended = now;
}

std::optional<ProbeOutcome> ProbeBook::find(std::string_view principal, std::string_view nonce,
                                            std::chrono::nanoseconds now) {
  std::lock_guard<std::mutex> lock(mutex_);
  forget_old(now);
  const Entry* known = entry(principal, nonce);
  return known == nullptr ? std::nullopt : std::optional(known->outcome);
}

ProbeBook::Entry* ProbeBook::entry(std::string_view principal, std::string_view nonce) {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) {
    return one.nonce == nonce && one.caller.principal == principal;
  });
  return found == entries_.end() ? nullptr : &*found;
}

void ProbeBook::forget_old(std::chrono::nanoseconds now) {
  std::erase_if(entries_, [&](const Entry& one) {
    return one.outcome.state != State::running && now - one.outcome.ended > kLife;
  });
  note_held();
}

void ProbeBook::make_room(const Caller& caller) {
  const auto own = std::count_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& one) { return one.caller.share == caller.share; });
  const bool its_own = own >= static_cast<ptrdiff_t>(kRememberedOfCaller);
  if (!its_own && entries_.size() < kRemembered) return;
  auto oldest = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) {
    return one.outcome.state != State::running && (!its_own || one.caller.share == caller.share);
  });
  if (oldest != entries_.end()) entries_.erase(oldest);
}

void ProbeBook::note_held() {
  size_t sum = 0;
  for (const Entry& one : entries_)
    sum += sizeof(Entry) + one.nonce.size() + one.caller.principal.size() + one.caller.share.size();
  held_.set(sum);
}

}  // namespace lineward::upstream

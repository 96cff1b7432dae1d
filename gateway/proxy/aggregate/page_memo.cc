#include "proxy/aggregate/page_memo.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "config/load_levels.h"

namespace lineward::aggregate {
namespace {

constexpr std::chrono::seconds kSweepEvery{10};

}  // namespace

// Under load the memory is for requests.
uint64_t PageMemo::most() const {
  if (config::load_of(MemoryCharge::total(), limits_) != config::Load::normal) return 0;
  const uint64_t budget = limits_.max_buffered_bytes;
  return budget == 0 ? kMaxBytes : std::min(kMaxBytes, budget / 64);
}

const PageMemo::Page* PageMemo::find(const NameMap& shown, const std::string& server, List list,
                                     std::string_view raw) {
  for (auto one = pages_.begin(); one != pages_.end(); ++one) {
    const Page& page = one->page;
    if (page.list != list || page.server != server || page.raw != raw) continue;
    if (page.version != shown.version(list, page.has_uris)) {
      drop(one);
      return nullptr;
    }
    one->used = true;
    pages_.splice(pages_.begin(), pages_, one);
    return &pages_.front().page;
  }
  return nullptr;
}

void PageMemo::keep(Page page) {
  if (!page.version || page.raw.empty()) return;
  const uint64_t most_bytes = most();
  const uint64_t size = sizeof(Kept) + page.server.size() + page.raw.size() + page.items.size();
  const bool fits = size <= most_bytes;
  size_t alike = 0;
  for (auto one = pages_.begin(); fits && one != pages_.end();) {
    const auto next = std::next(one);
    if (one->page.list == page.list && one->page.server == page.server && ++alike >= kMaxOfList) drop(one);
    one = next;
  }
  while (!pages_.empty() && bytes_ + (fits ? size : 0) > most_bytes)
    drop(std::prev(pages_.end()));
  if (!fits) return;
  Kept& kept = pages_.emplace_front();
  kept.page = std::move(page);
  kept.held.set(size);
  bytes_ += size;
  if (!sweeper_.running()) sweeper_.start(kSweepEvery, [this] { sweep(); });
}

void PageMemo::sweep() {
  for (auto one = pages_.begin(); one != pages_.end();) {
    const auto next = std::next(one);
    if (!std::exchange(one->used, false)) drop(one);
    one = next;
  }
  if (!pages_.empty()) sweeper_.start(kSweepEvery, [this] { sweep(); });
}

void PageMemo::forget(const std::string& server) {
  for (auto one = pages_.begin(); one != pages_.end();) {
    const auto next = std::next(one);
    if (one->page.server == server) drop(one);
    one = next;
  }
}

void PageMemo::drop(Pages::iterator one) {
  bytes_ -= one->held.mine();
  pages_.erase(one);
}

}  // namespace lineward::aggregate

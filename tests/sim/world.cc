#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace lineward::sim {
namespace {

World* the_world = nullptr;

struct Later {
  template <class E>
  bool operator()(const E& a, const E& b) const {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
};

}  // namespace

World& world() {
  LW_CHECK(the_world != nullptr);
  return *the_world;
}

bool has_world() {
  return the_world != nullptr;
}

World::World(uint64_t seed) : seed_(seed), order_(seed, "order"), entropy_(seed, "entropy") {
  LW_CHECK(the_world == nullptr);
  the_world = this;
}

World::~World() {
  // Callbacks in what is left may hold links: they go while there is a world.
  for (auto& event : events_)
    event.what = nullptr;
  events_.clear();
  links_.clear();
  the_world = nullptr;
}

void World::at(Time when, std::function<void()> what) {
  events_.push_back({std::max(when, now_), ++last_event_, std::move(what)});
  std::push_heap(events_.begin(), events_.end(), Later());
}

void World::poll(Time deadline) {
  ++turns;
  const bool first = !events_.empty() && events_.front().at <= deadline;
  now_ = std::max(now_, first ? events_.front().at : deadline);
  // What a turn of the loop brings at once differs: one thing, or all that has come.
  size_t most = order_.percent(50) ? 1 : 1 + order_.below(16);
  while (most-- > 0 && !events_.empty() && events_.front().at <= now_) {
    std::pop_heap(events_.begin(), events_.end(), Later());
    Event event = std::move(events_.back());
    events_.pop_back();
    event.what();
  }
}

int World::put(std::shared_ptr<Link> link) {
  const int fd = ++last_descriptor_;
  links_.emplace(fd, std::move(link));
  return fd;
}

std::shared_ptr<Link> World::take(int fd) {
  auto found = links_.find(fd);
  if (found == links_.end()) return nullptr;
  auto link = std::move(found->second);
  links_.erase(found);
  return link;
}

std::shared_ptr<Link> World::connect(const std::string& address, const std::string& peer, uint64_t number) {
  auto found = listeners_.find(address);
  if (found == listeners_.end() || found->second.empty()) return nullptr;
  Random random(seed_, peer, number);
  Weather weather = draw_weather(random, world().calm);
  auto link = std::make_shared<Link>(*this, random, weather, peer);
  after(weather.delay, [this, link, address, pick = random.next()] {
    auto now = listeners_.find(address);
    if (now == listeners_.end() || now->second.empty()) return link->from_gateway.reset();
    auto& all = now->second;
    all[pick % all.size()].knock(link);
  });
  return link;
}

void World::raise(int signal) {
  auto watchers = signals_[signal];
  for (auto& [watch, told] : watchers)
    told();
}

void World::mix(std::string_view bytes) {
  uint64_t hash = hash_ + static_cast<uint64_t>(now_);
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
    bytes.remove_prefix(sizeof word);
  }
  for (char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash_ = hash;
}

void World::tell(std::string text) {
  mix(text);
  if (telling_) story_.push_back({now_, std::move(text)});
}

}  // namespace lineward::sim

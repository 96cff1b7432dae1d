#include "world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "foundation/base/check.h"

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
  for (auto& events : events_) {
    for (auto& event : events)
      event.what = nullptr;
  }
  events_.clear();
  knocks_.clear();
  links_.clear();
  pairs_.clear();
  the_world = nullptr;
}

void World::at(Time when, std::function<void()> what) {
  at_home(kNobody, when, std::move(what));
}

void World::at_home(int home, Time when, std::function<void()> what) {
  put({std::max(when, now_), ++last_event_, home, std::move(what)});
}

void World::put(Event event) {
  const size_t heap = threads_.several() ? static_cast<size_t>(event.home + 1) : 0;
  if (heap >= events_.size()) events_.resize(heap + 1);
  events_[heap].push_back(std::move(event));
  std::push_heap(events_[heap].begin(), events_[heap].end(), Later());
}

void World::in_home(int home, std::function<void()> what) {
  if (home == this->home()) return what();
  at_home(home, now_, std::move(what));
}

int World::home() const {
  return threads_.several() ? Threads::here() : 0;
}

bool World::idle() const {
  for (size_t i = 0; i < events_.size(); ++i) {
    if (!events_[i].empty() && (i == 0 || threads_.is_alive(i - 1))) return false;
  }
  return true;
}

bool World::run_due(std::vector<Event>& events) {
  if (events.empty() || events.front().at > now_) return false;
  std::pop_heap(events.begin(), events.end(), Later());
  Event event = std::move(events.back());
  events.pop_back();
  // From before there were several threads.
  if (event.home >= 0 && event.home != home()) {
    put(std::move(event));
  } else {
    event.what();
  }
  return true;
}

void World::poll(Time deadline, const std::function<void()>& woken) {
  ++turns;
  if (!threads_.several()) return poll_alone(deadline, woken);
  threads_.poll(deadline);
  if (woken) woken();
  const auto mine = static_cast<size_t>(Threads::here() + 1);
  size_t most = order_.percent(50) ? 1 : 1 + order_.below(16);
  while (most-- > 0 && mine < events_.size() && run_due(events_[mine])) {
  }
}

void World::poll_alone(Time deadline, const std::function<void()>& woken) {
  std::vector<Event>& events = events_.front();
  const bool first = !events.empty() && events.front().at <= deadline;
  Time next = first ? events.front().at : deadline;
  // A process is not woken at once: what comes a little later comes in the same turn.
  if (first && order_.percent(25)) next = std::min(deadline, next + order_.between(0, 100));
  // A turn takes its time: what happens at one time happens in one turn.
  now_ = std::max(now_ + 1, next);
  if (woken) woken();
  // The events of a turn differ: one, or all that have come.
  size_t most = order_.percent(50) ? 1 : 1 + order_.below(16);
  while (most-- > 0 && run_due(events_.front())) {
  }
}

int World::put(std::shared_ptr<Link> link) {
  const int fd = ++last_descriptor_;
  links_.emplace(fd, std::move(link));
  return fd;
}

void World::put_pair(int ends[2]) {
  Weather none;
  none.delay = none.jitter = 0;
  none.split = 0;
  Random random(seed_, "pair", pairs_.size());
  std::shared_ptr<Link> links[2];
  for (int i = 0; i < 2; ++i) {
    links[i] = std::make_shared<Link>(*this, Random(random.next()), none, "a worker");
    ends[i] = put(links[i]);
  }
  pairs_.push_back(std::make_shared<Joint>(links[0], links[1]));
  pairs_.back()->begin();
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
    const Door& door = now->second[pick % now->second.size()];
    knocks_.push_back({door.home, link});
    in_home(door.home, [this, link, address, listener = door.listener] {
      std::erase_if(knocks_, [&](const Knock& one) { return one.link == link; });
      for (const Door& one : listeners_[address]) {
        if (one.listener == listener) return std::function(one.knock)(link);
      }
      link->from_gateway.reset();
    });
  });
  return link;
}

void World::thread_has_ended(int home) {
  for (const Knock& one : knocks_) {
    if (one.home == home) one.link->from_gateway.reset();
  }
  std::erase_if(knocks_, [home](const Knock& one) { return one.home == home; });
}

void World::raise(int signal, int home) {
  in_home(home, [this, signal, home] {
    std::vector<std::function<void()>> told;
    for (const SignalWatcher& one : signals_) {
      if (one.signal == signal && one.home == home) told.push_back(one.told);
    }
    for (auto& one : told)
      one();
  });
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

#include "link.h"

#include <algorithm>

#include "world.h"

namespace lineward::sim {

Weather draw_weather(Random& random, bool calm) {
  Weather weather;
  weather.delay = random.skewed(20, 20000);
  weather.jitter = random.skewed(0, 20000);
  weather.split = static_cast<unsigned>(random.percent(50) ? 0 : random.below(60));
  weather.smallest = random.percent(30) ? 1 : 16;
  weather.room = calm || random.percent(80) ? 64 * 1024 : static_cast<size_t>(random.between(512, 16384));
  return weather;
}

Way::Way(World& world, Random random, Weather weather) : world_(world), random_(random), weather_(weather) {}

// Its reader has moved to another thread meanwhile, or was on one all along that is not this.
bool Way::elsewhere() const {
  return reader_home >= 0 && reader_home != world_.home();
}

int64_t Way::arrival() {
  int64_t at = world_.now() + weather_.delay + random_.between(0, weather_.jitter);
  at = std::max({at, last_arrival_, stalled_until_});
  last_arrival_ = at;
  return at;
}

size_t Way::write(std::string_view bytes) {
  if (ended_ || reset_ || bytes.empty()) return 0;
  const size_t room = weather_.room > held_ ? weather_.room - held_ : 0;
  const size_t count = std::min(room, bytes.size());
  if (count < bytes.size()) blocked_ = was_full_ = true;
  if (count == 0) return 0;
  held_ += count;
  written_ += count;
  stamps_.push_back({written_, world_.now()});
  std::string_view rest = bytes.substr(0, count);
  world_.mix(rest);
  if (World::tells_bytes) world_.tell(std::string(rest.substr(0, 2000)));
  while (!rest.empty()) {
    size_t piece = rest.size();
    if (rest.size() > weather_.smallest && random_.percent(weather_.split))
      piece = static_cast<size_t>(
          random_.between(static_cast<int64_t>(weather_.smallest), static_cast<int64_t>(rest.size())));
    flight_.push_back(std::string(rest.substr(0, piece)));
    world_.at_home(reader_home, arrival(), [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) arrive();
    });
    rest.remove_prefix(piece);
  }
  return count;
}

// Each event brings the piece that is next, so that none overtakes another when a stall holds them up.
void Way::arrive() {
  if (reset_arrived_ || flight_.empty()) return;
  if (elsewhere()) {
    world_.at_home(reader_home, world_.now(), [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) arrive();
    });
    return;
  }
  if (world_.now() < stalled_until_) {
    world_.at_home(reader_home, stalled_until_, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) arrive();
    });
    return;
  }
  std::string bytes = std::move(flight_.front());
  flight_.pop_front();
  if (reader_gone_) {
    held_ -= bytes.size();
    return;
  }
  if (taken_ == ready_.size()) {
    ready_ = std::move(bytes);
    taken_ = 0;
  } else {
    ready_ += bytes;
  }
  if (on_ready) on_ready();
}

void Way::arrive_end(bool reset) {
  if (elsewhere()) {
    world_.at_home(reader_home, world_.now(), [this, alive = std::weak_ptr<bool>(alive_), reset] {
      if (!alive.expired()) arrive_end(reset);
    });
    return;
  }
  if (world_.now() < stalled_until_ || (!reset && !flight_.empty())) {
    world_.at_home(reader_home, std::max(stalled_until_, world_.now() + 1),
                   [this, alive = std::weak_ptr<bool>(alive_), reset] {
                     if (!alive.expired()) arrive_end(reset);
                   });
    return;
  }
  if (reset) {
    flight_.clear();
    reset_arrived_ = true;
    std::string().swap(ready_);
    taken_ = 0;
  } else {
    end_arrived_ = true;
  }
  if (on_ready) on_ready();
}

void Way::end() {
  if (ended_ || reset_) return;
  ended_ = true;
  world_.at_home(reader_home, arrival(), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) arrive_end(false);
  });
}

void Way::reset() {
  if (reset_) return;
  reset_ = true;
  // It may overtake what is under way, or come behind it.
  const int64_t at = random_.percent(50) ? arrival() : world_.now() + weather_.delay;
  world_.at_home(reader_home, at, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) arrive_end(true);
  });
}

void Way::end_at(int64_t at, bool reset) {
  if (ended_ || reset_) return;
  (reset ? reset_ : ended_) = true;
  world_.at_home(reader_home, std::max(at, last_arrival_),
                 [this, alive = std::weak_ptr<bool>(alive_), reset] {
                   if (!alive.expired()) arrive_end(reset);
                 });
}

void Way::take(size_t count) {
  taken_ += count;
  consumed_ += count;
  held_ -= std::min(held_, count);
  while (!stamps_.empty() && stamps_.front().end < consumed_)
    stamps_.pop_front();
  if (!stamps_.empty()) last_consumed_write_ = stamps_.front().at;
  while (!marks_.empty() && marks_.front().at <= consumed_) {
    auto then = std::move(marks_.front().then);
    marks_.pop_front();
    then();
  }
  if (taken_ == ready_.size()) {
    ready_.clear();
    taken_ = 0;
  }
  if (blocked_ && held_ < weather_.room && on_room) {
    blocked_ = false;
    world_.at_home(writer_home, world_.now() + weather_.delay, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired() && on_room) on_room();
    });
  }
}

// A writer that waits for room tries again, and finds no reader.
void Way::close_reader() {
  reader_gone_ = true;
  std::string().swap(ready_);
  taken_ = 0;
  if (!blocked_) return;
  blocked_ = false;
  world_.at_home(writer_home, world_.now() + weather_.delay, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && on_room) on_room();
  });
}

void Way::when_consumed(uint64_t offset, std::function<void()> then) {
  if (offset <= consumed_) return then();
  marks_.push_back({offset, std::move(then)});
}

Link::Link(World& world, const Random& random, const Weather& weather, std::string its_peer)
    : to_gateway(world, random, weather),
      from_gateway(world, Random(Random(random).next()), weather),
      peer(std::move(its_peer)) {}

}  // namespace lineward::sim

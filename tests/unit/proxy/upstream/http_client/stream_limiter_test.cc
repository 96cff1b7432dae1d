#include "proxy/upstream/http_client/stream_limiter.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::upstream;

namespace {

struct World {
  net::Loop loop;
  StreamLimiter places{loop};
  std::string told;
  std::unique_ptr<StreamPlace> place(std::string name) {
    return std::make_unique<StreamPlace>(places, [this, name = std::move(name)] { told += name; });
  }
};

}  // namespace

TEST_CASE("streams take half of the connections, and none where there is one") {
  World world;
  auto a = world.place("a"), b = world.place("b");
  world.places.share_of(1);
  CHECK_FALSE(a->take());
  world.places.share_of(3);
  CHECK(a->take());
  CHECK(a->take());  // it has it
  CHECK_FALSE(b->take());
  b->take_anyway();
  CHECK(b->is_held());
  CHECK_FALSE(world.places.has_room());
  b.reset();
  CHECK_FALSE(world.places.has_room());
  a.reset();
  CHECK(world.places.has_room());
}

TEST_CASE("a call that waits for a place gets it in its turn, notified by the loop and holding it") {
  World world;
  world.places.share_of(2);
  auto a = world.place("a"), b = world.place("b"), c = world.place("c"), d = world.place("d");
  CHECK(a->take_or_wait());
  CHECK_FALSE(b->take_or_wait());
  CHECK_FALSE(b->take_or_wait());  // waits already
  CHECK_FALSE(c->take_or_wait());
  CHECK_FALSE(d->take_or_wait());
  a->give();
  CHECK(world.told.empty());
  net::turn(world.loop);
  CHECK(world.told == "b");
  CHECK(b->is_held());
  c.reset();  // waits no more
  b->give();
  b->give();
  net::turn(world.loop);
  CHECK(world.told == "bd");
  CHECK(d->is_held());
}

TEST_CASE("more connections are more places for those that wait") {
  World world;
  world.places.share_of(2);
  auto a = world.place("a"), b = world.place("b");
  CHECK(a->take_or_wait());
  CHECK_FALSE(b->take_or_wait());
  world.places.share_of(4);
  net::turn(world.loop);
  CHECK(world.told == "b");
}

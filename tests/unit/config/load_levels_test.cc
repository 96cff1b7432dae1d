#include "config/load_levels.h"

#include <catch2/catch.hpp>

using namespace lineward;
using config::Load;

TEST_CASE("the levels of listen.maxBufferedBytes") {
  config::Listen listen;
  listen.max_buffered_bytes = 1000000;
  CHECK(config::load_of(849999, listen) == Load::normal);
  CHECK(config::load_of(850000, listen) == Load::no_streams);
  CHECK(config::load_of(950000, listen) == Load::no_requests);
  CHECK(config::load_of(980000, listen) == Load::no_bodies);
  CHECK(config::load_of(1000000, listen) == Load::full);
  listen.max_buffered_bytes = 0;
  CHECK(config::load_of(1ull << 40, listen) == Load::normal);
}

TEST_CASE("small requests have room until all is full") {
  config::Listen listen;
  listen.max_buffered_bytes = 1000000;
  CHECK(config::has_room(Load::no_streams, 900000, listen));
  CHECK(config::has_room(Load::no_bodies, 100, listen));
  CHECK_FALSE(config::has_room(Load::no_requests, 101, listen));
  CHECK_FALSE(config::has_room(Load::full, 1, listen));
  listen.max_buffered_bytes = 1ull << 30;
  CHECK(config::has_room(Load::no_requests, 16384, listen));
  CHECK_FALSE(config::has_room(Load::no_requests, 16385, listen));
}

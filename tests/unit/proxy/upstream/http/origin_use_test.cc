// Requests of Lineward's own at the origins of a server.
#include <string>

#include "proxy/upstream/http/http_era_prober.h"
#include "unit/proxy/upstream/http/http_world.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::Era;

TEST_CASE("the origin that was asked for the era leaves when a reload removes it") {
  HttpWorld world(Era::modern);
  world.server.protocol_era = config::Era::automatic;
  world.server.urls = {{world.fake->url()}};
  Asker caller;
  world.start(world.request(Era::modern, "n"), caller);
  REQUIRE(world.heard_of(1));
  CHECK(world.asked(0).rpc() == "server/discover");
  world.fake->result(
      world.asked(0),
      R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
  REQUIRE(world.heard_of(2));
  world.fake->result(world.asked(1));
  REQUIRE(world.wait_for([&] { return caller.over(); }));
  world.server.urls = {{"http://127.0.0.1:1/mcp"}};
  world.its_upstream().notice(core::UpstreamNotice::reconfigured);
  CHECK(world.wait_for([&] { return world.its_upstream().status().origins.size() == 1; }));
  CHECK(world.its_upstream().status().origins[0].name == "127.0.0.1:1");
}

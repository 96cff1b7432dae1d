// Requests of Lineward's own at the origins of a server: the probe of the era, and checks.
#include <string>

#include "proxy/upstream/http/origin_checks.h"
#include "unit/proxy/upstream/http/http_world.h"
#include "unit/proxy/upstream/http_client/frame_server.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::Era;
using std::chrono::milliseconds;

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

TEST_CASE("a check that waits in Lineward for a stream says nothing about its origin") {
  HttpWorld world(Era::modern);
  FrameServer busy(world.loop);
  busy.most_streams = 1;
  busy.answers_all = false;
  world.server.urls = {{"http://" + busy.listener->address() + "/mcp"}};
  world.server.http2 = config::ServerHttp2::always;
  world.server.limits.max_connections = 1;
  world.server.timeouts.connect = milliseconds(300);
  world.server.origins.check = milliseconds(200);
  world.server.origins.check_timeout = milliseconds(GENERATE(50, 1000));
  Asker caller;
  world.start(world.request(Era::modern, "n"), caller);
  REQUIRE(world.wait_for([&] { return busy.asked.size() == 1; }));
  const auto since = world.loop.now();
  REQUIRE(world.wait_for([&] { return world.loop.now() - since > milliseconds(700); }));
  CHECK(busy.asked.size() == 1);
  CHECK(world.its_upstream().status().origins[0].failures == 0);
  world.calls.clear();
}

#include "proxy/client/endpoint/path_router.h"

#include <memory>
#include <string>
#include <vector>

#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

PathTable table(const std::string& server) {
  PathTable made;
  made.servers["/mcp"] = server;
  made.placement[server].home = 2;
  return made;
}

}  // namespace

TEST_CASE(
    "a path leads to its server, with a slash at its end or without, and after a reload to the next one") {
  PathRouter router(table("first"));
  std::vector<std::string> seen;
  Requests requests([&](ClientConnection& connection) {
    const std::string* server = router.facts(connection).server;
    seen.push_back(server == nullptr ? "none" : *server);
  });
  requests.ask("/mcp");
  requests.ask("/mcp/");
  requests.ask("/other");
  requests.ask("/mcp");
  router.use(table("second"));
  requests.ask("/mcp");  // with the head of before, byte by byte
  CHECK(seen == std::vector<std::string>{"first", "first", "none", "first", "second"});
}

TEST_CASE("where servers are placed, a path says on which worker its server lives") {
  const PathTable paths = table("s");
  CHECK(paths.place_at("/mcp").home == 2);
  CHECK(paths.place_at("/mcp/").home == 2);
  CHECK(paths.place_at("/nothing").home == 0);
  CHECK(paths.place_of("unknown").home == 0);
}

TEST_CASE("what goes on of a head is by the rules of its server, and kept for either kind of request") {
  PathTable paths = table("s");
  config::Server server;
  server.url = "http://127.0.0.1/mcp";
  server.forward_headers = {"X-Team"};
  paths.forward.emplace("s", config::ForwardRules(server, false));
  PathRouter router(std::move(paths));
  std::vector<std::string> seen;
  Requests requests([&](ClientConnection& connection) {
    std::string names;
    for (Mirrored mirrored : {Mirrored::no, Mirrored::yes, Mirrored::yes, Mirrored::no}) {
      for (const auto& [name, value] : router.forwarded(connection, "s", mirrored))
        names += name + " ";
      names += "| ";
    }
    seen.push_back(names);
    CHECK(router.forwarded(connection, "unknown", Mirrored::no).begin() ==
          router.forwarded(connection, "unknown", Mirrored::no).end());
  });
  requests.ask("/mcp", "X-Team: a\r\nMcp-Name: n\r\nX-Other: b\r\n");
  CHECK(seen == std::vector<std::string>{"X-Team | X-Team Mcp-Name | X-Team Mcp-Name | X-Team | "});
}

TEST_CASE(
    "a body is as long as its server's limit, and sessions are looked for where a server is leaving, too") {
  PathTable paths = table("s");
  paths.most_bytes["s"] = 10;
  paths.leaving["/old"] = "left";
  paths.sse_posts["/messages"] = "s";
  PathRouter router(std::move(paths));
  CHECK(router.limits_bodies());
  CHECK(router.fits(10, "s"));
  CHECK_FALSE(router.fits(11, "s"));
  CHECK(router.fits(11, "left"));
  CHECK(router.body_too_large("s").status == 413);
  std::vector<std::string> sessions, posts;
  std::vector<bool> takes;
  Requests requests([&](ClientConnection& connection) {
    const http::RequestHead& head = connection.head();
    sessions.push_back(router.server_of_session(head));
    posts.emplace_back(router.server_of_sse_post(head));
    takes.push_back(router.takes_posts(head));
  });
  requests.ask("/mcp");
  requests.ask("/old");
  requests.ask("/old", "Mcp-Session-Id: x\r\n");
  requests.ask("/messages?sessionId=x");
  CHECK(sessions == std::vector<std::string>{"s", "left", "left", ""});
  CHECK(posts == std::vector<std::string>{"", "", "", "s"});
  CHECK(takes == std::vector<bool>{true, false, true, true});
}

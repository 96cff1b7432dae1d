#include "proxy/client/endpoint/http_front.h"

#include <memory>
#include <optional>
#include <string>

#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

struct NoExchanges final : core::ExchangeApi {
  core::ExchangeId start(core::IncomingMessage&&, std::unique_ptr<core::ReplyStream>) override { return {}; }
  void client_left(core::ExchangeId, mcp::EndReason) override {}
  void cancel(core::ExchangeId, std::string_view) override {}
  void notified(core::IncomingMessage&&) override {}
  bool answered(const std::string&, mcp::Message, core::AnswerCame) override { return false; }
  void session_ended(const std::string&) override {}
  std::optional<std::vector<std::string>> versions(const std::string&) const override { return std::nullopt; }
};

// Two workers on one loop: the second one has missed the reload that added /mcp/new, which is its own.
struct TwoWorkers final {
  TwoWorkers() {
    first.use_neighbours(
        {0, 2, [this](size_t, MovedConnection moved) { hand_on(second, std::move(moved)); }, nullptr});
    second.use_neighbours(
        {1, 2, [this](size_t, MovedConnection moved) { hand_on(first, std::move(moved)); }, nullptr});
  }
  ~TwoWorkers() {
    first.close_all();
    second.close_all();
    turn(loop);
  }
  static PathTable reloaded() {
    PathTable table;
    table.servers["/mcp/new"] = "new";
    table.placement["new"].home = 1;
    return table;
  }
  // A worker's mailbox is read in its next turn. A connection that never rests ends here.
  void hand_on(HttpFront& to, MovedConnection moved) {
    if (++moves > 10) return;
    to.adopt(std::move(moved));
  }

  net::Loop loop;
  config::Listen limits;
  NoExchanges exchanges;
  std::shared_ptr<ConnectionCaps> caps = std::make_shared<ConnectionCaps>();
  HttpFront first{loop, limits, reloaded(), exchanges, caps};
  HttpFront second{loop, limits, {}, exchanges, caps};
  int moves = 0;
};

}  // namespace

TEST_CASE("a connection moves once for a request while two workers disagree about its path") {
  TwoWorkers world;
  FarClient client(world.loop);
  world.caps->enter("10.0.0.1:1", 10, 10);
  auto stream = client.take_stream();
  world.first.adopt(NewConnection(stream->detach(), "10.0.0.1:1"));
  client.send("GET /mcp/new HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until(world.loop, [&] { return !client.received().empty() || client.closed(); });
  CHECK(client.received().substr(0, 12) == "HTTP/1.1 404");
  CHECK(world.moves == 1);

  // Its next request may move it again.
  const size_t before = client.received().size();
  client.send("GET /mcp/other HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until(world.loop, [&] { return client.received().size() > before || client.closed(); });
  CHECK(client.received().substr(before, 12) == "HTTP/1.1 404");
  CHECK(world.moves == 2);
  CHECK(world.first.connections() == 1);
}

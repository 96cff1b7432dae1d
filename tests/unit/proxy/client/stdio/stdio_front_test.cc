// The era of a client on stdin while its `initialize` is answered.
#include "proxy/client/stdio/stdio_front.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/foundation/net/turns.h"

using namespace lineward;
using namespace lineward::client;

namespace {

const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}})";

// The calls to exchanges, in order.
struct Exchanges final : core::ExchangeApi {
  core::ExchangeId start(core::IncomingMessage&& arrival, std::unique_ptr<core::ReplyStream> reply) override {
    told.push_back("start " + std::string(arrival.message.method()));
    replies.push_back(std::move(reply));
    return {static_cast<uint32_t>(replies.size()), 1};
  }
  void client_left(core::ExchangeId, mcp::EndReason) override {}
  void cancel(core::ExchangeId id, std::string_view) override {
    told.push_back("cancel " + std::to_string(id.index));
  }
  void notified(core::IncomingMessage&& arrival) override {
    told.push_back("notify " + std::string(arrival.message.method()));
    if (auto next = std::exchange(on_notified, nullptr)) next();
  }
  bool answered(const std::string&, mcp::Message, core::AnswerCame) override { return false; }
  void session_ended(const std::string&) override {}
  std::optional<std::vector<std::string>> versions(const std::string&) const override { return std::nullopt; }

  std::function<void()> on_notified;
  std::vector<std::string> told;
  std::vector<std::unique_ptr<core::ReplyStream>> replies;
};

struct Pipe {
  Pipe() { REQUIRE(pipe(ends) == 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

struct World {
  World() { REQUIRE(front.listen()); }
  ~World() {
    front.close_all();
    exchanges.replies.clear();
    net::turn(loop);
  }
  void send(const std::string& line) {
    const std::string bytes = line + "\n";
    REQUIRE(write(in.ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  bool told(size_t count) {
    return net::wait_for(loop, [&] { return exchanges.told.size() >= count; });
  }

  net::Loop loop;
  config::Listen limits;
  Exchanges exchanges;
  Pipe in, out;
  StdioFront front{loop, limits, "s", exchanges, [](mcp::EndReason) {}, in.ends[0], out.ends[1]};
};

}  // namespace

TEST_CASE("what a client writes in the turn in which its initialize is answered comes behind what was held") {
  World world;
  world.send(kInitialize);
  REQUIRE(world.told(1));
  // The second of two messages that are read at once is not held, since it names its revision: meanwhile the
  // answer comes.
  world.exchanges.on_notified = [&] {
    world.exchanges.replies[0]->finish(R"({"jsonrpc":"2.0","id":0,"result":{}})", 200);
  };
  world.send(
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"n"}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"notifications/vendor/x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  REQUIRE(world.told(4));
  CHECK(world.exchanges.told == std::vector<std::string>{"start initialize", "notify notifications/vendor/x",
                                                         "start tools/call", "cancel 2"});
  // Later messages do not wait.
  world.send(R"({"jsonrpc":"2.0","id":8,"method":"tools/list"})");
  REQUIRE(world.told(5));
}

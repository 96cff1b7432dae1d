#include "proxy/client/endpoint/gatekeeper.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "unit/proxy/client/http/far_client.h"

using namespace lineward;
using namespace lineward::client;

namespace {

// Says what it is told to say, at once or when it is told to.
struct ScriptedGate final : core::Gate {
  bool open(std::string_view) const override { return false; }
  std::optional<core::GateAnswer> admit(const core::GateRequest& request, core::GateDone later) override {
    asked.push_back(std::string(request.method) + " " + std::string(request.path) + " " +
                    std::string(request.server));
    if (later && waits) {
      done = std::move(later);
      return std::nullopt;
    }
    return answer;
  }
  const std::vector<std::string>& headers_wanted() const override { return wanted; }
  void on_refused(const core::RefusedRequest& request) override {
    refused.push_back(request.status);
    callers.push_back(request.caller != nullptr ? request.caller->principal : std::string());
  }

  static core::GateAnswer caller(std::string principal) {
    auto who = std::make_shared<core::Caller>();
    who->principal = std::move(principal);
    return core::CallerPtr(std::move(who));
  }
  static core::GateAnswer denial() {
    core::PolicyError denial{.reason = mcp::EndReason::unauthorized, .status = 401};
    denial.text = "no";
    denial.headers = {{"WWW-Authenticate", "Bearer"}};
    return denial;
  }

  bool waits = false;
  core::GateAnswer answer = caller("jwt:a");
  core::GateDone done;
  std::vector<std::string> wanted, asked, callers;
  std::vector<int> refused;
};

PathTable paths() {
  PathTable table;
  table.servers["/mcp"] = "files";
  table.most_bytes["files"] = 100'000;
  return table;
}

struct World final : RequestHandler {
  ~World() {
    connection.reset();
    turn(loop);
  }
  void connect() {
    connection = std::make_unique<ClientConnection>(loop, limits, *this, client.take_stream(), "10.0.0.1:1");
  }
  void use(std::shared_ptr<core::Gate> new_gate) { gate = std::move(new_gate); }
  std::string answer_to(const std::string& request) {
    client.send(request);
    run_until(loop, [&] { return client.received().find("\r\n\r\n") != std::string::npos; });
    return client.received();
  }

  void on_request(ClientConnection& from, std::string body) override {
    ++complete;
    if (supervisor.admit(from, body)) on_admitted(from, std::move(body));
  }
  void on_http2(ClientConnection&, std::string_view) override {}
  void on_client_left(ClientConnection& from) override {
    supervisor.client_left(from);
    gone = true;
  }
  HeadVerdict on_head(ClientConnection& from) override {
    from.begin_head({});
    if (supervisor.refuses_head(from)) return HeadVerdict::answered;
    return supervisor.wants_body(from.head()) ? HeadVerdict::invited : HeadVerdict::read;
  }
  bool draining() const override { return false; }
  void on_full() override {}
  void on_admitted(ClientConnection& from, std::string body) {
    admitted.push_back(from.principal() + " " + body);
    from.respond(200, "text/plain", "in");
  }

  net::Loop loop;
  config::Listen limits;
  std::shared_ptr<core::Gate> gate;
  PathRouter router{paths()};
  RefusalWriter refusals{router, gate};
  FrontListener listener{loop, nullptr, nullptr};
  Gatekeeper supervisor{
      limits,   listener,
      router,   gate,
      refusals, [this](ClientConnection& from, std::string body) {
                          on_admitted(from, std::move(body)); }};
  FarClient client{loop};
  std::unique_ptr<ClientConnection> connection;
  int complete = 0;
  bool gone = false;
  std::vector<std::string> admitted;
};

std::string post(const std::string& more, const std::string& body, const std::string& path = "/mcp") {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool begins(const std::string& text, const std::string& with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

TEST_CASE("without a gate every request is admitted, as no particular caller") {
  World world;
  world.connect();
  CHECK(begins(world.answer_to(post("", "{}")), "HTTP/1.1 200"));
  CHECK(world.admitted == std::vector<std::string>{"anonymous {}"});
}

TEST_CASE("a foreign origin is refused before the gate is asked, and policies hear of it") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  world.use(gate);
  world.connect();
  CHECK(begins(world.answer_to(post("Origin: https://evil.example\r\n", "{}")), "HTTP/1.1 403"));
  CHECK(world.admitted.empty());
  CHECK(gate->asked.empty());
  CHECK(gate->refused == std::vector<int>{403});
}

TEST_CASE("a browser's preflight is answered without credentials") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  world.use(gate);
  world.limits.allowed_origins = {"https://app.example"};
  world.connect();
  const std::string answer = world.answer_to(
      "OPTIONS /mcp HTTP/1.1\r\nHost: a\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  CHECK(begins(answer, "HTTP/1.1 204"));
  CHECK(gate->asked.empty());
}

TEST_CASE("a caller that is admitted at once is known to the request's connection, by the configured path") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  world.use(gate);
  world.connect();
  CHECK(begins(world.answer_to(post("", "{}", "/mcp/")), "HTTP/1.1 200"));
  CHECK(world.admitted == std::vector<std::string>{"jwt:a {}"});
  CHECK(gate->asked == std::vector<std::string>{"POST /mcp files"});
}

TEST_CASE("a refused request gets the gate's headers") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  gate->answer = ScriptedGate::denial();
  world.use(gate);
  world.connect();
  const std::string answer = world.answer_to(post("", "{}"));
  CHECK(begins(answer, "HTTP/1.1 401"));
  CHECK(answer.find("WWW-Authenticate: Bearer\r\n") != std::string::npos);
  CHECK(world.admitted.empty());
  CHECK(gate->refused == std::vector<int>{401});
}

TEST_CASE("a request waits for a gate that takes its time, counted, and by the gate that it asked") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  gate->waits = true;
  world.use(gate);
  world.connect();
  const std::string body(10'000, ' ');
  const uint64_t before = MemoryCharge::total();
  world.client.send(post("", body));
  run_until(world.loop, [&] { return world.supervisor.waiting() == 1; });
  CHECK(MemoryCharge::total() >= before + body.size());
  std::weak_ptr<core::Gate> asked = gate;
  core::GateDone done = std::move(gate->done);
  world.use(std::make_shared<ScriptedGate>());  // a reload
  gate.reset();
  CHECK_FALSE(asked.expired());
  done(ScriptedGate::caller("jwt:late"));
  CHECK(world.supervisor.waiting() == 0);
  CHECK(world.admitted == std::vector<std::string>{"jwt:late " + body});
  CHECK(asked.expired());
  CHECK(MemoryCharge::total() < before + body.size());
}

TEST_CASE("a late answer for a client that has gone away is dropped") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  gate->waits = true;
  world.use(gate);
  world.connect();
  world.client.send(post("", "{}"));
  run_until(world.loop, [&] { return world.supervisor.waiting() == 1; });
  world.client.leave();
  run_until(world.loop, [&] { return world.gone; });
  CHECK(world.supervisor.waiting() == 0);
  gate->done(ScriptedGate::caller("jwt:late"));
  CHECK(world.admitted.empty());
}

TEST_CASE(
    "a late answer is for the request that asked, also when another one waits in the same place of memory") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  gate->waits = true;
  world.use(gate);
  world.connect();
  world.client.send(post("", "{}"));
  run_until(world.loop, [&] { return world.supervisor.waiting() == 1; });
  core::GateDone first = std::move(gate->done);
  world.client.leave();
  run_until(world.loop, [&] { return world.gone; });
  FarClient other{world.loop};
  std::destroy_at(world.connection.get());
  std::construct_at(world.connection.get(), world.loop, world.limits, world, other.take_stream(),
                    "10.0.0.2:1");
  other.send(post("", "[]"));
  run_until(world.loop, [&] { return world.supervisor.waiting() == 1; });
  first(ScriptedGate::caller("jwt:first"));
  CHECK(world.admitted.empty());
  CHECK(world.supervisor.waiting() == 1);
  gate->done(ScriptedGate::caller("jwt:other"));
  CHECK(world.admitted == std::vector<std::string>{"jwt:other []"});
}

TEST_CASE("a refused request does not have the earlier caller of its connection") {
  World world;
  auto gate = std::make_shared<ScriptedGate>();
  world.use(gate);
  world.connect();
  CHECK(begins(world.answer_to(post("", "{}")), "HTTP/1.1 200"));
  CHECK(gate->callers.empty());
  gate->answer = ScriptedGate::denial();
  world.client.send(post("", "{}"));
  run_until(world.loop, [&] { return gate->callers.size() == 1; });
  world.client.send(post("Origin: https://evil.example\r\n", "{}"));
  run_until(world.loop, [&] { return gate->callers.size() == 2; });
  // Refused by its head alone.
  world.client.send("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
  run_until(world.loop, [&] { return gate->callers.size() == 3; });
  CHECK(gate->callers == std::vector<std::string>(3));
}

TEST_CASE("an answer after the end of the gatekeeper is dropped") {
  auto gate = std::make_shared<ScriptedGate>();
  gate->waits = true;
  {
    World world;
    world.use(gate);
    world.connect();
    world.client.send(post("", "{}"));
    run_until(world.loop, [&] { return world.supervisor.waiting() == 1; });
  }
  gate->done(ScriptedGate::caller("jwt:late"));
}

TEST_CASE("a large body of an unknown caller is not read") {
  const std::string large = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n";
  SECTION("a denial that is known from the head alone") {
    World world;
    auto gate = std::make_shared<ScriptedGate>();
    gate->answer = ScriptedGate::denial();
    world.use(gate);
    world.connect();
    CHECK(begins(world.answer_to(large), "HTTP/1.1 401"));
    CHECK(world.complete == 0);
  }
  SECTION("a foreign origin") {
    World world;
    world.connect();
    CHECK(begins(world.answer_to("POST /mcp HTTP/1.1\r\nHost: a\r\nOrigin: https://evil.example\r\n"
                                 "Content-Length: 50000\r\n\r\n"),
                 "HTTP/1.1 403"));
    CHECK(world.complete == 0);
  }
  SECTION("more than its server takes") {
    World world;
    world.connect();
    const std::string answer =
        world.answer_to("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n");
    CHECK(begins(answer, "HTTP/1.1 413"));
    CHECK(answer.find("mcpServers.files.limits.maxRequestBytes") != std::string::npos);
    CHECK(world.complete == 0);
  }
  SECTION("a client that expects 100 Continue gets it if its path is served") {
    World world;
    world.connect();
    world.client.send("POST /mcp HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    run_until(world.loop, [&] { return begins(world.client.received(), "HTTP/1.1 100"); });
    world.client.send("{}");
    run_until(world.loop, [&] { return !world.admitted.empty(); });
    CHECK(world.complete == 1);
  }
}

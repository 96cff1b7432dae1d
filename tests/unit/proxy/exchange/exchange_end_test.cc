// An exchange between neighbours that break their promise (proxy/core/reply_stream.h, proxy/core/upstream.h):
// whatever they are asked, they call back from inside, or show the client gone. Each call ends once all the
// same, and what was counted for it is counted back once.
#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/log/log.h"
#include "foundation/net/loop.h"
#include "protocol/mcp/errors.h"
#include "proxy/client/session/session.h"
#include "proxy/exchange/exchange_table.h"

using namespace lineward;
using mcp::EndReason;

namespace {

mcp::Message parse(const std::string& text) {
  auto message = mcp::Message::parse(text);
  REQUIRE(message.has_value());
  return std::move(*message);
}

// From inside which of the neighbours' methods something happens.
enum class Inside : uint8_t { nowhere, send, finish, finish_empty, can_send, cancel, reply };
constexpr Inside kInsides[] = {Inside::send,     Inside::finish, Inside::finish_empty,
                               Inside::can_send, Inside::cancel, Inside::reply};

struct Trap {
  Inside inside = Inside::nowhere;
  std::function<void()> act;
  bool sprung = false;
  void at(Inside here) {
    if (here != inside || sprung) return;
    sprung = true;
    act();
  }
};

struct Seen {
  int sent = 0, ends = 0, cancels = 0;
  bool lost = false;
};

class BadReply final : public core::ReplyStream {
 public:
  BadReply(Trap& trap, Seen& seen) : trap_(trap), seen_(seen) {}
  void send(std::string) override {
    ++seen_.sent;
    trap_.at(Inside::send);
  }
  void finish(std::string, int) override {
    ++seen_.ends;
    trap_.at(Inside::finish);
  }
  void finish_empty() override {
    ++seen_.ends;
    trap_.at(Inside::finish_empty);
  }
  void cut() override {}
  bool can_send() const override {
    trap_.at(Inside::can_send);
    return !seen_.lost;
  }
  std::optional<EndReason> lost() const override {
    return seen_.lost ? std::optional(EndReason::client_too_slow) : std::nullopt;
  }
  uint64_t bytes_out() const override { return 0; }

 private:
  Trap& trap_;
  Seen& seen_;
};

class BadCall final : public core::Call {
 public:
  BadCall(Trap& trap, Seen& seen, mcp::Message request, core::CallCallbacks& its_owner)
      : owner(&its_owner), trap_(trap), seen_(seen), request_(std::move(request)) {}
  void cancel(core::CancelCause) override {
    ++seen_.cancels;
    core::CallCallbacks* it = std::exchange(owner, nullptr);
    trap_.at(Inside::cancel);
    // A forbidden act of a server: an end after the cancel, and from inside it.
    if (trap_.inside == Inside::cancel && it != nullptr)
      it->on_call_failed({EndReason::upstream_exited, "x"});
  }
  bool live() const override { return owner != nullptr; }
  void reply(std::string) override { trap_.at(Inside::reply); }
  void hand_over(core::CallCallbacks& next, core::Handover) override { owner = &next; }
  core::CallFacts call_facts() const override { return {&request_}; }
  void retried(mcp::Message message) override { request_ = std::move(message); }
  core::CallCallbacks* owner;

 private:
  Trap& trap_;
  Seen& seen_;
  mcp::Message request_;
};

class BadUpstream final : public core::Upstream {
 public:
  BadUpstream(Trap& trap, Seen& seen) : Upstream("s"), trap_(trap), seen_(seen) {}
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    auto made = std::make_unique<BadCall>(trap_, seen_, std::move(request.message), owner);
    call = made.get();
    return std::unique_ptr<core::Call>(std::move(made));
  }
  void open_scope(const core::Scope&, core::ScopeCallbacks& owner) override { scope = &owner; }
  void close_scope(const core::Scope&) override { scope = nullptr; }
  void send(const core::Scope&, mcp::Era, const mcp::Message& message, const core::HeaderFields&) override {
    forwarded.push_back(message.bytes());
  }
  core::ServerFacts facts() const override { return {mcp::Era::legacy}; }
  void stop(std::function<void()> done) override { done(); }

  BadCall* call = nullptr;
  core::ScopeCallbacks* scope = nullptr;
  std::vector<std::string> forwarded;

 private:
  Trap& trap_;
  Seen& seen_;
};

struct World {
  World() : sessions(loop, config.listen, [this](const std::string& id) { table.session_ended(id); }) {
    config.listen.max_in_flight_per_principal = 1;
    table.sessions().use_sessions(sessions);
    table.share_in_flight(in_flight);
    table.servers().add(upstream, server);
  }
  ~World() { turn(); }

  void turn() {
    loop.defer([this] { loop.stop(); });
    loop.run();
  }
  core::ExchangeId start(std::string_view method, mcp::Era era, const std::string& session) {
    core::IncomingMessage arrival;
    arrival.message = parse(fmt::format(
        R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{"name":"n","_meta":{{"progressToken":7}}}}}})",
        method));
    arrival.from->method = mcp::method_of(method);
    arrival.from->era = era;
    arrival.from->upstream = "s";
    arrival.from->principal = "p";
    arrival.from->session = session;
    return table.start(std::move(arrival), std::make_unique<BadReply>(trap, seen));
  }
  void tell_all(std::string_view why) {
    for (exchange::Exchange* one : table.live().all())
      one->cancel(EndReason::cancelled_operator, why);
  }
  void from_server(const std::string& text) {
    if (upstream.call != nullptr && upstream.call->owner != nullptr)
      upstream.call->owner->on_call_message(parse(text));
  }
  void last_from_server(const std::string& text) {
    if (core::CallCallbacks* owner = std::exchange(upstream.call->owner, nullptr))
      owner->on_call_message(parse(text));
  }
  void fails(const core::Failure& failure) {
    if (core::CallCallbacks* owner = std::exchange(upstream.call->owner, nullptr))
      owner->on_call_failed(failure);
  }

  Trap trap;
  Seen seen;
  net::Loop loop;
  config::Config config;
  config::Server server = [] {
    config::Server it;
    it.name = "s";
    return it;
  }();
  BadUpstream upstream{trap, seen};
  client::SessionTable sessions;
  std::shared_ptr<exchange::InFlight> in_flight = std::make_shared<exchange::InFlight>();
  exchange::ExchangeTable table{loop, config};
};

constexpr const char* kProgress =
    R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":17,"progress":1}})";

struct Way {
  const char* name;
  mcp::Era era;
  const char* method;
  std::function<void(World&, core::ExchangeId)> end;
};

// All ways in which an exchange ends.
const std::vector<Way>& ways() {
  using Id = core::ExchangeId;
  static const std::vector<Way> all{
      {"final_message", mcp::Era::legacy, "tools/call",
       [](World& w, Id) { w.last_from_server(R"({"jsonrpc":"2.0","id":17,"result":{}})"); }},
      {"final_message, an error", mcp::Era::modern, "tools/call",
       [](World& w, Id) {
         w.last_from_server(R"({"jsonrpc":"2.0","id":17,"error":{"code":-32601,"message":"x"}})");
       }},
      {"final_message of initialize", mcp::Era::legacy, "initialize",
       [](World& w, Id) {
         w.last_from_server(R"({"jsonrpc":"2.0","id":17,"result":{"protocolVersion":"2025-11-25"}})");
       }},
      {"fail", mcp::Era::legacy, "tools/call",
       [](World& w, Id) {
         w.fails({EndReason::upstream_exited, "it has gone"});
       }},
      {"fail of initialize", mcp::Era::legacy, "initialize",
       [](World& w, Id) {
         w.fails({EndReason::upstream_exited, "it has gone"});
       }},
      {"fail with a live call", mcp::Era::modern, "tools/call",
       [](World& w, Id) { w.tell_all("an operator"); }},
      {"refuse", mcp::Era::modern, "tools/call",
       [](World& w, Id) {
         core::Failure failure{EndReason::forbidden, "no"};
         failure.code = -32000;
         w.fails(failure);
       }},
      {"tell", mcp::Era::legacy, "tools/call", [](World& w, Id id) { w.table.cancel(id, "enough"); }},
      {"tell, a drained listen", mcp::Era::modern, "subscriptions/listen",
       [](World& w, Id) {
         w.from_server(
             R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}})");
         w.table.end_listens();
       }},
      {"a listen that its server ends", mcp::Era::modern, "subscriptions/listen",
       [](World& w, Id) {
         w.last_from_server(
             R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":17}})");
       }},
      {"an acknowledged listen that fails", mcp::Era::modern, "subscriptions/listen",
       [](World& w, Id) {
         w.from_server(
             R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}})");
         w.from_server(
             R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}})");
         w.fails({EndReason::upstream_exited, "it has gone"});
       }},
      {"a question that the client cannot be asked", mcp::Era::modern, "tools/call",
       [](World& w, Id) {
         w.from_server(R"({"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"?"}})");
       }},
      {"client_left", mcp::Era::legacy, "tools/call",
       [](World& w, Id id) { w.table.client_left(id, EndReason::cancelled_client); }},
      {"the end of its session", mcp::Era::legacy, "tools/call",
       [](World& w, Id) {
         for (const std::string& id : w.sessions.ids())
           w.table.session_ended(id);
       }},
  };
  return all;
}

struct Misdeed {
  const char* name;
  std::function<void(World&, core::ExchangeId)> act;
};

const std::vector<Misdeed>& misdeeds() {
  using Id = core::ExchangeId;
  static const std::vector<Misdeed> all{
      {"the client is gone", [](World& w, Id id) { w.table.client_left(id, EndReason::client_too_slow); }},
      {"the client is lost, and told of at once",
       [](World& w, Id id) {
         w.seen.lost = true;
         w.table.client_left(id, EndReason::client_too_slow);
       }},
      {"the client is lost", [](World& w, Id) { w.seen.lost = true; }},
      {"the client cancels", [](World& w, Id id) { w.table.cancel(id, "enough"); }},
      {"an operator ends all", [](World& w, Id) { w.tell_all("x"); }},
      {"the session ends",
       [](World& w, Id) {
         for (const std::string& id : w.sessions.ids())
           w.table.session_ended(id);
       }},
      {"the server sends more", [](World& w, Id) { w.from_server(kProgress); }},
      {"the server answers",
       [](World& w, Id) {
         if (w.upstream.call != nullptr) w.last_from_server(R"({"jsonrpc":"2.0","id":17,"result":{}})");
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("an exchange ends once, whatever its neighbours do from inside what it asks of them") {
  log::configure(log::Format::logfmt, log::Level::off, false);
  for (const Way& way : ways()) {
    for (Inside inside : kInsides) {
      for (const Misdeed& misdeed : misdeeds()) {
        INFO(way.name << "; inside " << static_cast<int>(inside) << ": " << misdeed.name);
        World world;
        std::string session_id;
        if (way.era == mcp::Era::legacy) session_id = world.sessions.create("p", "s", nullptr)->id;
        core::ExchangeId id = world.start(way.method, way.era, session_id);
        world.trap.inside = inside;
        world.trap.act = [&] { misdeed.act(world, id); };
        const bool listens = way.method == std::string_view("subscriptions/listen");
        if (!listens) world.from_server(kProgress);
        if (world.table.live().find(id) != nullptr) way.end(world, id);
        CHECK(world.table.live().size() == 0);
        CHECK(world.table.live().find(id) == nullptr);
        CHECK(world.in_flight->requests == 0);
        CHECK(world.table.log().all().size() == 1);
        CHECK(world.seen.ends <= 1);
        CHECK(world.seen.cancels <= 1);
        if (client::Session* session = world.sessions.find(session_id)) CHECK(session->exchanges == 0);
        world.turn();
        // A further exchange is served: no count was doubled, neither up nor down.
        world.trap.inside = Inside::nowhere;
        world.seen.lost = false;
        core::ExchangeId next = world.start("tools/call", mcp::Era::modern, {});
        CHECK(world.table.live().find(next) != nullptr);
        CHECK(world.in_flight->requests == 1);
        world.last_from_server(R"({"jsonrpc":"2.0","id":17,"result":{}})");
        CHECK(world.in_flight->requests == 0);
      }
    }
  }
}

TEST_CASE("a client that was lost before the end was told ends its exchange so, and is left alone") {
  log::configure(log::Format::logfmt, log::Level::off, false);
  for (const Way& way : ways()) {
    INFO(way.name);
    World world;
    std::string session_id;
    if (way.era == mcp::Era::legacy) session_id = world.sessions.create("p", "s", nullptr)->id;
    core::ExchangeId id = world.start(way.method, way.era, session_id);
    world.seen.lost = true;
    way.end(world, id);
    CHECK(world.table.live().size() == 0);
    auto all = world.table.log().all();
    REQUIRE(all.size() == 1);
    const bool told = way.name == std::string_view("client_left");
    CHECK((all.front()->reason == EndReason::client_too_slow || told));
  }
}

TEST_CASE("when all has been ended no call begins any more") {
  log::configure(log::Format::logfmt, log::Level::off, false);
  World world;
  world.start("tools/call", mcp::Era::modern, {});
  CHECK(world.in_flight->requests == 1);
  world.table.end_all(EndReason::cancelled_drain, "the gateway is stopping");
  CHECK(world.table.live().size() == 0);
  world.turn();
  world.start("tools/call", mcp::Era::modern, {});
  world.start("subscriptions/listen", mcp::Era::modern, {});
  CHECK(world.table.live().size() == 0);
  CHECK(world.in_flight->requests == 0);
  REQUIRE(world.table.log().all().size() == 3);
  for (const exchange::EndedCall* ended : world.table.log().all())
    CHECK(ended->reason == EndReason::cancelled_drain);
}

#include "proxy/upstream/shared/server_era.h"

#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
using core::CallPhase;

namespace {

constexpr auto kCall = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";

// Answers when the test says so.
struct Prober final : EraProber {
  int asked = 0;
  bool named_somebody = false;
  bool busy = false;
  std::string refused_to;  // a principal; empty: to all
  Done done;
  void ask(const core::UpstreamRequest* first, Done told) override {
    ++asked;
    named_somebody = first != nullptr;
    busy = true;
    done = std::move(told);
  }
  bool is_busy() const override { return busy; }
  bool concerns(const core::UpstreamRequest& request, const core::Failure&) const override {
    return refused_to.empty() || request.scope.principal == refused_to;
  }
  void answer(EraVerdict verdict, const core::Failure& failure = {}) {
    busy = false;
    std::exchange(done, nullptr)(std::move(verdict), failure);
  }
};

struct Call final : TransportCall {
  Call(core::CallCallbacks& owner, ServerEra& era, std::string principal = {})
      : TransportCall(request_of(mcp::Era::modern, kCall), owner), era_(era) {
    request.scope.principal = std::move(principal);
  }
  ~Call() override { cancel(""); }
  void cancel(core::CancelCause) override {
    era_.withdraw(*this);
    owner_ = nullptr;
  }
  void fail(const core::Failure& failure) override { pass_failure(failure); }
  ServerEra& era_;
};

struct Owner final : ServerEraCallbacks {
  int verdicts = 0;
  std::vector<TransportCall*> known;
  void on_era_verdict(const EraVerdict&) override { ++verdicts; }
  void on_era_known(TransportCall& call) override { known.push_back(&call); }
};

EraVerdict known(mcp::Era era) {
  EraVerdict verdict;
  verdict.known = true;
  verdict.era = era;
  if (era == mcp::Era::modern) verdict.versions = {std::string(mcp::kNewestModern)};
  return verdict;
}

struct World {
  net::Loop loop;
  config::Server server;
  Prober prober;
  Owner owner;
  Asker ada, bob;
};

}  // namespace

TEST_CASE("a worker takes the verdict of another one, but not the one that it has found wrong") {
  World world;
  Prober others;
  const auto server = std::make_shared<SharedServer>();
  ServerEra here(world.loop, world.server, world.prober, world.owner),
      there(world.loop, world.server, others, world.owner);
  here.share({server, nullptr, 0, 0, 2});
  there.share({server, nullptr, 1, 0, 2});
  CHECK_FALSE(there.is_known());
  here.warm_up(nullptr);
  world.prober.answer(known(mcp::Era::modern));
  CHECK(server->is_modern());
  CHECK(there.is_current());
  CHECK(there.is_modern());
  there.forget();
  CHECK_FALSE(there.is_known());
  CHECK(server->is_modern());
  there.ask();
  others.answer(known(mcp::Era::legacy));
  CHECK_FALSE(server->is_modern());
  CHECK(here.is_modern());
  CHECK(others.asked == 1);
}

TEST_CASE("a server with a configured era is never asked") {
  World world;
  world.server.protocol_era = config::Era::modern;
  ServerEra era(world.loop, world.server, world.prober, world.owner);
  CHECK(era.is_current());
  CHECK(era.is_modern());
  REQUIRE(era.versions());
  CHECK(*era.versions() == std::vector<std::string>{std::string(mcp::kNewestModern)});
  int told = 0;
  era.warm_up([&](const EraVerdict& verdict) { told += verdict.known ? 1 : 0; });
  CHECK(told == 0);  // not from inside
  run_for(world.loop);
  CHECK(told == 1);
  CHECK(world.prober.asked == 0);
}

TEST_CASE("calls wait for the verdict, which is asked for once and in the name of the first") {
  World world;
  ServerEra era(world.loop, world.server, world.prober, world.owner);
  CHECK_FALSE(era.versions());
  CHECK_FALSE(era.known_era());
  Call one(world.ada, era), two(world.bob, era);
  era.wait(one);
  era.wait(two);
  CHECK(world.prober.asked == 0);  // at the end of the turn
  run_for(world.loop);
  CHECK(world.prober.asked == 1);
  CHECK(world.prober.named_somebody);
  CHECK(world.ada.phases == std::vector<CallPhase>{CallPhase::starting});
  era.ask();
  CHECK(world.prober.asked == 1);

  SECTION("a caller that has left meanwhile is not notified") {
    one.cancel("");
    world.prober.answer(known(mcp::Era::modern));
    CHECK(world.owner.known == std::vector<TransportCall*>{&two});
    CHECK(era.waiting() == 0);
    CHECK(world.owner.verdicts == 1);
  }
  SECTION("a legacy server is served in every revision, by Lineward itself in the newest") {
    world.prober.answer(known(mcp::Era::legacy));
    CHECK(world.owner.known.size() == 2);
    REQUIRE(era.versions());
    CHECK(era.versions()->size() == std::size(mcp::kRevisions));
    CHECK(era.is_current());
    era.forget();
    CHECK_FALSE(era.is_current());
  }
  SECTION("without a verdict they fail, and the next call asks again") {
    world.prober.answer({}, {mcp::EndReason::upstream_unreachable, "is not there"});
    REQUIRE(world.ada.failed);
    CHECK(world.ada.failed->text == "is not there");
    CHECK(world.bob.failed);
    CHECK(world.owner.known.empty());
    Asker carol;
    Call three(carol, era);
    era.wait(three);
    run_for(world.loop);
    CHECK(world.prober.asked == 2);
  }
  SECTION("when the upstream stops, they are its owner's to end, and no answer counts") {
    auto left = era.stop();
    CHECK(left.size() == 2);
    era.ask();
    world.prober.busy = false;
    era.ask();
    CHECK(world.prober.asked == 1);
  }
}

TEST_CASE(
    "what the server refuses to one caller fails the calls of that one; for the others it is asked again") {
  World world;
  ServerEra era(world.loop, world.server, world.prober, world.owner);
  Call adas(world.ada, era, "ada"), bobs(world.bob, era, "bob");
  era.wait(adas);
  era.wait(bobs);
  run_for(world.loop);
  world.prober.refused_to = "ada";
  world.prober.answer({}, {mcp::EndReason::unauthorized, "401"});
  CHECK(world.ada.failed);
  CHECK_FALSE(world.bob.failed);
  CHECK(world.prober.asked == 2);
  world.prober.answer(known(mcp::Era::modern));
  CHECK(world.owner.known == std::vector<TransportCall*>{&bobs});
}

TEST_CASE("a call that waits while the last probe still ends is probed for afterwards") {
  World world;
  ServerEra era(world.loop, world.server, world.prober, world.owner);
  Call one(world.ada, era);
  world.prober.busy = true;  // the last process has answered, and is ending
  era.wait(one);
  run_for(world.loop);
  CHECK(world.prober.asked == 0);
  world.prober.busy = false;
  era.prober_free();
  CHECK(world.prober.asked == 1);
}

TEST_CASE("what the answer to server/discover says of the era") {
  auto verdict = [](const char* text) { return verdict_of_discover(parse(text)); };
  SECTION("a modern version that both speak") {
    auto modern = verdict(
        R"({"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2999-01-01","2026-07-28"],"_meta":{}}})");
    CHECK(modern.known);
    CHECK(modern.era == mcp::Era::modern);
    CHECK(modern.versions == std::vector<std::string>{"2026-07-28"});
    CHECK_FALSE(modern.is_weak());
  }
  SECTION("the same in the refusal of another version") {
    CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no",)"
                  R"("data":{"supported":["2026-07-28"],"requested":"x"}}})")
              .era == mcp::Era::modern);
  }
  SECTION("anything else is a legacy server's") {
    auto legacy = verdict(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"what?"}})");
    CHECK(legacy.known);
    CHECK(legacy.era == mcp::Era::legacy);
    CHECK(legacy.versions.empty());
    CHECK(verdict(R"({"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}})").era ==
          mcp::Era::legacy);
  }
}

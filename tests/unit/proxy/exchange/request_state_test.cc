#include "proxy/exchange/request_state.h"

#include <catch2/catch.hpp>

using namespace lineward::exchange;
using std::chrono::milliseconds;

namespace {

const StateBinding kCall{"alice", "files", "tools/call", [] { return std::string(R"("name":"ask",)"); }};
constexpr milliseconds kNow{1000}, kExpires{5000};

StateFault fault(const RequestStates& states, std::string_view text, const StateBinding& binding = kCall,
                 milliseconds now = kNow) {
  return states.read(text, binding, now).fault;
}

}  // namespace

TEST_CASE("a state is read back for the call that it was made for") {
  RequestStates states;
  auto made = states.make(kCall, kExpires);
  auto read = states.read(made.text, kCall, kNow);
  CHECK(read.fault == StateFault::none);
  CHECK(read.id == made.id);
  CHECK(made.text.size() == 132);
  CHECK(made.text.rfind("lw1.", 0) == 0);
}

TEST_CASE("every state is new") {
  RequestStates states;
  auto one = states.make(kCall, kExpires), two = states.make(kCall, kExpires);
  CHECK(one.id != two.id);
  CHECK(one.text != two.text);
}

TEST_CASE("a state with any character changed, added or missing is refused") {
  RequestStates states;
  std::string text = states.make(kCall, kExpires).text;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    auto found = fault(states, changed);
    INFO(at);
    // The first characters say which process made it.
    CHECK((found == StateFault::tampered || (at < 16 && found == StateFault::lost)));
    CHECK(fault(states, text.substr(0, at)) == StateFault::tampered);
  }
  CHECK(fault(states, text + "A") == StateFault::tampered);
  CHECK(fault(states, text + "-TAMPERED") == StateFault::tampered);
  CHECK(fault(states, "") == StateFault::tampered);
  CHECK(fault(states, std::string(132, '=')) == StateFault::tampered);
}

TEST_CASE("a state is good for one principal, server, method and params") {
  RequestStates states;
  std::string text = states.make(kCall, kExpires).text;
  CHECK(fault(states, text, {"bob", kCall.upstream, kCall.method, kCall.params}) == StateFault::foreign);
  CHECK(fault(states, text, {"", kCall.upstream, kCall.method, kCall.params}) == StateFault::foreign);
  CHECK(fault(states, text, {"alice", "mail", kCall.method, kCall.params}) == StateFault::foreign);
  CHECK(fault(states, text, {"alicefiles", "", kCall.method, kCall.params}) == StateFault::foreign);
  CHECK(fault(states, text, {"alice", "files", "prompts/get", kCall.params}) == StateFault::other_call);
  auto other = [] { return std::string(R"("name":"rm",)"); };
  CHECK(fault(states, text, {"alice", "files", "tools/call", other}) == StateFault::other_call);
}

TEST_CASE("parameters of a call are not asked for before its state is known to be its caller's") {
  RequestStates states;
  const std::string text = states.make(kCall, kExpires).text;
  int asked = 0;
  auto params = [&asked] {
    ++asked;
    return std::string(R"("name":"ask",)");
  };
  CHECK(fault(states, "lw1.forged", {"alice", "files", "tools/call", params}) == StateFault::tampered);
  CHECK(fault(states, RequestStates().make(kCall, kExpires).text, {"alice", "files", "tools/call", params}) ==
        StateFault::lost);
  CHECK(fault(states, text, {"bob", "files", "tools/call", params}) == StateFault::foreign);
  CHECK(asked == 0);
  CHECK(fault(states, text, {"alice", "files", "tools/call", params}) == StateFault::none);
  CHECK(asked == 1);
}

TEST_CASE("a state expires") {
  RequestStates states;
  std::string text = states.make(kCall, kExpires).text;
  CHECK(fault(states, text, kCall, kExpires - milliseconds(1)) == StateFault::none);
  CHECK(fault(states, text, kCall, kExpires) == StateFault::expired);
}

TEST_CASE("a state of another process is lost") {
  RequestStates before, after;
  CHECK(fault(after, before.make(kCall, kExpires).text) == StateFault::lost);
}

TEST_CASE("replicas read each other's states, recognise their owners, and change keys meanwhile") {
  const std::string one(40, 'x'), two(40, 'y');
  auto keys = [](const std::string& text) {
    auto made = lineward::SealKeys::parse(text);
    REQUIRE(made);
    return *made;
  };
  RequestStates a, restarted, b, rotated, stranger;
  a.share(keys(one), "a");
  restarted.share(keys(one), "a");
  b.share(keys(one), "b");
  rotated.share(keys(two + "\n" + one), "a");
  stranger.share(keys(two), "a");
  std::string text = a.make(kCall, kExpires).text;
  CHECK(fault(a, text) == StateFault::none);
  CHECK(fault(restarted, text) == StateFault::none);
  CHECK(fault(rotated, text) == StateFault::none);
  CHECK(fault(b, text) == StateFault::lost);
  CHECK(fault(stranger, text) == StateFault::tampered);
  CHECK(fault(rotated, text, {"bob", kCall.upstream, kCall.method, kCall.params}) == StateFault::foreign);
}

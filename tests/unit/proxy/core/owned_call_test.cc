#include "proxy/core/owned_call.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/log/log.h"

namespace core = lineward::core;
namespace mcp = lineward::mcp;

namespace {

mcp::Message ping() {
  return mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").value();
}

struct Owner final : core::CallCallbacks {
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&&) override { ++heard; }
  void on_call_failed(const core::Failure&) override { ++heard; }
  int heard = 0;
};

// The record of a call that may have gone since.
using Notes = std::vector<std::string>;

class Plain final : public core::OwnedCall {
 public:
  Plain(Notes& notes, core::CallCallbacks& owner) : OwnedCall(&owner), notes_(notes), request_(ping()) {}
  ~Plain() override {
    if (live()) cancel_alive("a server");
  }
  void cancel(core::CancelCause why) override {
    if (take_owner() != nullptr) notes_.push_back("cancel " + std::string(why.text));
  }
  core::CallFacts call_facts() const override { return {&request_, "{}", true, false, true, false}; }
  void answer() {
    if (core::CallCallbacks* owner = take_owner()) owner->on_call_message(ping());
  }
  void reply(std::string message) override { notes_.push_back("reply " + message); }
  bool hold(bool on) override {
    notes_.emplace_back(on ? "pause" : "go on");
    return true;
  }
  void hand_over(core::CallCallbacks& owner, core::Handover how) override {
    notes_.emplace_back(how == core::Handover::parked ? "park" : "take over");
    OwnedCall::hand_over(owner, how);
  }
  void retried(mcp::Message) override { notes_.emplace_back("retried"); }

 private:
  Notes& notes_;
  mcp::Message request_;
};

class Passing final : public core::PassingCall {
 public:
  explicit Passing(core::CallCallbacks& owner) : PassingCall({ping()}, &owner) {}
  ~Passing() override {
    if (live()) cancel_alive("a server");
  }
  Plain& begin(Notes& notes) {
    auto inner = std::make_unique<Plain>(notes, *this);
    Plain& begun = *inner;
    inner_ = std::move(inner);
    return begun;
  }
  void cancel(core::CancelCause why) override {
    if (take_owner() != nullptr) passed_on = cancel_inner(why);
  }
  bool passed_on = false;

 private:
  void on_call_phase(core::CallPhase) override {}
  void on_call_message(mcp::Message&& message) override {
    if (core::CallCallbacks* owner = take_owner()) owner->on_call_message(std::move(message));
  }
  void on_call_failed(const core::Failure&) override {}
};

}  // namespace

TEST_CASE("a call that is destroyed alive cancels itself, once, and tells its owner nothing") {
  Notes notes;
  Owner owner;
  std::make_unique<Plain>(notes, owner).reset();
  CHECK(notes == Notes{"cancel internal error"});
  CHECK(owner.heard == 0);
}

TEST_CASE("a call that is over is destroyed without a word") {
  Notes notes;
  Owner owner;
  auto answered = std::make_unique<Plain>(notes, owner);
  answered->answer();
  CHECK_FALSE(answered->live());
  answered->answer();
  answered.reset();
  CHECK(owner.heard == 1);
  auto cancelled = std::make_unique<Plain>(notes, owner);
  cancelled->cancel("enough");
  cancelled->cancel("enough");
  cancelled.reset();
  CHECK(owner.heard == 1);
  CHECK(notes == Notes{"cancel enough"});
}

TEST_CASE("a call that was handed over tells its new owner; one that is over has none any more") {
  Notes notes;
  Owner first, second, third;
  Plain call(notes, first);
  call.hand_over(second, core::Handover::parked);
  call.answer();
  call.hand_over(third, core::Handover::in_flight);
  CHECK_FALSE(call.live());
  CHECK(first.heard == 0);
  CHECK(second.heard == 1);
  CHECK(third.heard == 0);
}

TEST_CASE("a passing call passes on what it is told while the call behind it goes on") {
  Notes notes;
  Owner owner, other;
  Passing call(owner);
  CHECK(call.request_message().method() == "ping");
  CHECK(call.call_facts().server_info.empty());
  CHECK_FALSE(call.call_facts().of_legacy_server);
  CHECK(call.call_facts().has_session);
  CHECK_FALSE(call.pause());
  call.reply("nobody");
  call.retried(ping());
  CHECK(notes.empty());

  Plain& inner = call.begin(notes);
  CHECK(call.call_facts().server_info == "{}");
  CHECK(call.call_facts().of_legacy_server);
  CHECK_FALSE(call.call_facts().has_session);
  CHECK(&call.request_message() == &inner.request_message());
  CHECK(call.pause());
  call.reply("yes");
  call.retried(ping());
  call.hand_over(other, core::Handover::parked);
  CHECK(notes == Notes{"pause", "reply yes", "retried", "park"});

  inner.answer();
  CHECK(owner.heard == 0);
  CHECK(other.heard == 1);
  CHECK_FALSE(call.live());
  CHECK_FALSE(call.pause());
  call.reply("too late");
  call.hand_over(owner, core::Handover::in_flight);
  CHECK(notes.size() == 4);
}

TEST_CASE("a passing call reports whether another call tells the outcome of its cancel") {
  Notes notes;
  Owner owner;
  Passing without(owner);
  without.cancel("enough");
  CHECK_FALSE(without.passed_on);
  Passing with(owner);
  with.begin(notes);
  with.cancel("enough");
  CHECK(with.passed_on);
  CHECK(notes == Notes{"cancel enough"});
  CHECK(owner.heard == 0);
}

TEST_CASE("a passing call that is destroyed alive cancels the one behind it before that goes") {
  Notes notes;
  Owner owner;
  auto call = std::make_unique<Passing>(owner);
  call->begin(notes);
  call.reset();
  CHECK(notes == Notes{"cancel internal error"});
}

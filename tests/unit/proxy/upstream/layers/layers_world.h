// The neighbours of layers: callers that record their messages, and a server below with calls that the test
// controls.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

namespace lineward::upstream {

using mcp::parse;

using Caller = core::Asker;

// A call as the server below sees it. It may outlive the Call.
struct BelowCall {
  core::CallCallbacks* owner = nullptr;
  core::UpstreamRequest request;
  std::optional<std::string> cancelled;
  void says(std::string text) const { owner->on_call_message(parse(std::move(text))); }
  void answers(std::string text) { std::exchange(owner, nullptr)->on_call_message(parse(std::move(text))); }
  void fails(const core::Failure& failure) { std::exchange(owner, nullptr)->on_call_failed(failure); }
};

class CallBelow final : public core::Call {
 public:
  explicit CallBelow(std::shared_ptr<BelowCall> seen) : seen_(std::move(seen)) {}
  ~CallBelow() override { CHECK_FALSE(live()); }
  void cancel(core::CancelCause why) override {
    if (!live()) return;
    seen_->owner = nullptr;
    seen_->cancelled = std::string(why.text);
  }
  bool live() const override { return seen_->owner != nullptr; }
  void reply(std::string) override {}
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override { return {&seen_->request.message}; }
  void retried(mcp::Message) override {}

 private:
  const std::shared_ptr<BelowCall> seen_;
};

// The properties of the server below, and its requests.
struct Below {
  std::optional<mcp::Era> era = mcp::Era::modern;
  core::Tells tells;
  bool translates = false;  // bridged sessions (core::UpstreamParts)
  std::vector<core::UpstreamStatus::Process> processes;
  std::optional<core::Failure> refuses;
  std::vector<std::shared_ptr<BelowCall>> calls;
  BelowCall& last() {
    REQUIRE_FALSE(calls.empty());
    return *calls.back();
  }
};

struct UpstreamBelow final : core::PassingUpstream {
  explicit UpstreamBelow(Below& its_below) : PassingUpstream("s"), below(its_below) {}
  core::ServerFacts facts() const override { return {below.era, true, below.tells}; }
  core::UpstreamStatus status() const override {
    core::UpstreamStatus status;
    status.processes = below.processes;
    return status;
  }
  core::UpstreamParts parts(const core::Scope&) override {
    return {nullptr, nullptr, nullptr, below.translates};
  }
  void notice(core::UpstreamNotice) override {}
  void stop(std::function<void()> done) override { done(); }
  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    if (below.refuses) return Unexpected<core::Failure>{core::Failure(*below.refuses)};
    auto seen = std::make_shared<BelowCall>();
    seen->owner = &owner;
    seen->request = std::move(request);
    below.calls.push_back(seen);
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::make_unique<CallBelow>(std::move(seen)));
  }
  Below& below;
};

}  // namespace lineward::upstream

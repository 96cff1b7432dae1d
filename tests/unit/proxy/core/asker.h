// The caller of a call in tests: it records its messages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proxy/core/upstream.h"
#include "unit/protocol/mcp/parse.h"

namespace lineward::core {

struct Asker final : CallCallbacks {
  std::vector<CallPhase> phases;
  std::vector<std::string> heard;
  std::optional<Failure> failed;
  int repeated = 0;
  Coalesced whose = Coalesced::no;
  std::function<void()> then = [] {};  // from inside of what it is told
  void on_call_phase(CallPhase phase) override {
    phases.push_back(phase);
    then();
  }
  void on_call_message(mcp::Message&& message) override {
    heard.push_back(message.bytes());
    then();
  }
  void on_call_failed(const Failure& failure) override {
    failed = failure;
    then();
  }
  void on_call_repeated() override {
    ++repeated;
    then();
  }
  void on_call_request(Coalesced of) override { whose = of; }
  bool heard_nothing() const { return heard.empty() && !failed; }
  bool over() const {
    return failed || (!heard.empty() && mcp::parse(heard.back()).kind() != mcp::MessageKind::notification);
  }
};

}  // namespace lineward::core

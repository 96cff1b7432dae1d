// A list, or server/discover, of many servers (behaviour.md 7). Sent to all servers concerned at once, each
// with its own limit, and merged in configured order. A response that does not arrive is reported as missing;
// when none arrives the call fails. Until the first response arrives, starting servers may use their own
// limits, since no response waits for them. Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"
#include "foundation/json/json_outline.h"
#include "foundation/net/lifetime.h"
#include "proxy/aggregate/aggregate_upstream.h"
#include "proxy/aggregate/sub_request.h"
#include "proxy/core/owned_call.h"

namespace lineward::aggregate {

class MergedCall final : public core::OwnedCall {
 public:
  MergedCall(AggregateUpstream& aggregate, core::UpstreamRequest request, core::CallCallbacks& owner);
  ~MergedCall() override;

  void begin();  // never calls back synchronously

  // core::Call
  void cancel(core::CancelCause why) override;
  core::CallFacts call_facts() const override { return {&request_.message}; }

 private:
  struct MemberResponse {
    std::unique_ptr<SubRequest> sub_request;
    CursorPart from;  // raw is empty for the first page
    std::optional<Result<mcp::Message, core::Failure>> answer;
    std::optional<Missing> gap;      // after an answer without a usable part: the reason
    MemoryCharge held{Held::calls};  // the answer, until the last response arrives
    bool counted = false;            // as missing or truncated, once
  };
  void missed(MemberResponse& response, const Missing& gap);
  void add(const std::shared_ptr<Member>& member, CursorPart from);
  void ask(MemberResponse& response);
  void answered(MemberResponse& response, Result<mcp::Message, core::Failure> answer);
  void hold_up();
  std::string request_for(const MemberResponse& response) const;
  void check();
  void merge_discover();
  void merge_list();
  void take_page(ListPage& page, MemberResponse& response);
  void take_items(ListPage& page, MemberResponse& response, const mcp::Message& answer);
  // The items of a page as clients see them.
  PageMemo::Page read_items(const Member& member, const mcp::Message& answer);
  std::optional<Missing> gap_of(const MemberResponse& response) const;
  void finish(std::string text);
  void finish(json::Text text);
  core::CallCallbacks* leave();

  AggregateUpstream& aggregate_;
  core::UpstreamRequest request_;
  const ListRow* list_;  // null: discover
  std::vector<std::unique_ptr<MemberResponse>> responses_;
  bool begun_ = false;
  bool held_up_ = false;  // a response has arrived, and waits for the others
  std::string refusal_;   // an error for the whole call
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

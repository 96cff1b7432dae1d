// A list, or server/discover, of many servers: asked of all that are concerned at once, each with its own
// limit, and answered in the order of the configuration (behaviour.md 7). A part that does not come is
// missing and said to be; when none comes the call fails. While none is there nobody is held up by those that
// still start: they have their servers' own time. Owned by its caller.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/aggregate_upstream.h"
#include "aggregate/sub_request.h"
#include "base/held_bytes.h"
#include "core/owned_call.h"
#include "net/lifetime.h"

namespace lineward::aggregate {

class MergedCall final : public core::OwnedCall {
 public:
  MergedCall(AggregateUpstream& aggregate, core::CallRequest request, core::CallOwner& owner);
  ~MergedCall() override;

  void begin();  // calls nobody back

  // core::Call
  void cancel(core::CancelCause why) override;
  const mcp::Message& request_message() const override { return request_.message; }

 private:
  struct Part {
    std::unique_ptr<SubRequest> sub_request;
    CursorPart from;  // raw is empty for the first page
    std::optional<Result<mcp::Message, core::Failure>> answer;
    std::optional<Missing> gap;   // why there is nothing of it, once there is an answer
    HeldBytes held{Held::calls};  // of it, until the last part is there
    bool counted = false;         // as missing, or cut: once
  };
  void missed(Part& part, const Missing& gap);
  void add(const std::shared_ptr<Member>& member, CursorPart from);
  void ask(Part& part);
  void answered(Part& part, Result<mcp::Message, core::Failure> answer);
  void hold_up();
  std::string request_for(const Part& part) const;
  void check();
  void merge_discover();
  void merge_list();
  void take_page(ListPage& page, Part& part);
  void take_items(ListPage& page, Part& part, const mcp::Message& answer);
  std::optional<Missing> gap_of(const Part& part) const;
  void finish(std::string text);
  core::CallOwner* leave();

  AggregateUpstream& aggregate_;
  core::CallRequest request_;
  const ListRow* list_;  // null: discover
  std::vector<std::unique_ptr<Part>> parts_;
  bool begun_ = false;
  bool held_up_ = false;  // a part is there, and waits for the others
  std::string refusal_;   // of the whole, a message
  net::Lifetime lifetime_;
};

}  // namespace lineward::aggregate

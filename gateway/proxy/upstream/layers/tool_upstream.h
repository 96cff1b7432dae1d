// An upstream in front of an upstream that uses tool definitions. It adds Mcp-Param-* headers for clients
// that send none, and checks them where the server does not. It hides tools with invalid definitions, repeats
// calls where allowed (behaviour.md 11; docs/headers.md), and refuses calls of tools that are not in the
// server's view (docs/views.md). Without any of these, calls pass straight
// through.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/upstream/layers/tool_call.h"
#include "proxy/upstream/layers/tool_catalog.h"

namespace lineward::upstream {

class ToolUpstream final : public core::PassingUpstream {
 public:
  ToolUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server);
  ~ToolUpstream() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void notice(core::UpstreamNotice what) override;
  // The server's list differs from the one that it was read from.
  void list_changed() { book_.changed(); }

  // For ToolCall.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  ToolCatalog& book() { return book_; }
  std::string view_key(const core::UpstreamRequest& request) const;
  // Fetches the list on behalf of `call`, and calls its learned() later, never synchronously. A failure: too
  // many calls wait already.
  std::optional<core::Failure> learn(ToolCall& call);
  // False during a pause of its list: a call proceeds with what is known.
  bool may_learn(const std::string& view);
  void forget(ToolCall& call);
  // Are the server's tools limited by their hints (tools.only)?
  bool has_view() const { return server_.tools.only != config::ToolsOnly::all; }
  // unknown: the list must be fetched first; left_out: the list is too long, and this tool was not stored.
  enum class Judged : uint8_t { shown, hidden, unknown, left_out };
  Judged judge(const std::string& view, const std::string& tool);
  // As may_learn, for a call that is refused without the list.
  bool may_learn_to_judge(const std::string& view);
  // The refusal of a call while its tool cannot be judged.
  core::Failure unjudged(const std::string& view, const std::string& tool);
  // Is another attempt within the budget?
  bool may_repeat();

 private:
  // Lineward's own tools/list, for the calls that wait.
  struct Listing final : core::CallCallbacks {
    Listing(ToolUpstream& its_upstream, const ToolCall& first);
    bool ask(std::string_view cursor);
    void on_call_phase(core::CallPhase phase) override;
    void on_call_message(mcp::Message&& message) override;
    void on_call_failed(const core::Failure& failure) override;
    void ran_out();
    // The whole list is stored in this view, and nothing has changed since the request.
    bool is_kept_in(const ToolView& its_view) const {
      return its_view.number == kept_in && upstream.book_.changes() == changes;
    }

    ToolUpstream& upstream;
    std::string view;
    // The caller of the list; its message requests the first page. The original message, which may be long,
    // is not kept.
    core::UpstreamRequest like;
    MemoryCharge held{Held::calls};              // accounts for `like`
    std::unique_ptr<core::WaitingPermit> place;  // until the request is sent: that of the first waiting call
    std::unique_ptr<core::Call> call;
    std::vector<ToolCall*> waiting;
    std::string cursor;
    uint32_t pages = 0;
    uint64_t changes = 0;  // changes of the server's list notified before
    ViewReading for_view;
    uint64_t kept_in = 0;  // ToolView::number at the first page
    core::CallPhase phase = core::CallPhase::queued;
    std::optional<std::chrono::milliseconds> starting_at;  // its server has been starting since then
    bool overdue = false;  // no client waits for it any more; its result is for later calls
    net::Timer limit, patience;
  };
  void listed(Listing& listing, bool to_the_end);
  // Ends the listing; returns the calls that waited for it.
  std::vector<ToolCall*> end(Listing& listing);
  void drop(Listing& listing);
  // Postpones the next fetch: for these callers' lists, or for all if they share one process.
  enum class Affects : uint8_t { caller, all_callers };
  void pause(ToolView& view, Affects whom, std::string_view event);
  // Waiting calls proceed without the list, and no call waits for it for a while.
  void go_without(Listing& listing);
  void note_why_not(const std::string& view, std::string why);
  HeaderRole role_of(const core::UpstreamRequest& request) const;
  bool is_stdio() const { return server_.url.empty(); }

  net::Loop& loop_;
  const config::Server& server_;
  config::ToolsOnly only_;  // the last one that lists were read for
  ToolCatalog book_;
  std::map<std::string, std::unique_ptr<Listing>> listings_;  // by view
  double repeats_left_ = 0;
  double repeats_per_call_ = 0;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

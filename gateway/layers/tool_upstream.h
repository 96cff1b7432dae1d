// An upstream in front of an upstream that knows its tools: it makes the Mcp-Param-* headers for clients that
// make none, checks those of clients whose server does not, leaves out tools that cannot be called so, and
// repeats what may be repeated (behaviour.md 11; docs/headers.md). Where none of this is wanted, calls pass
// straight through.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/held_bytes.h"
#include "config/config.h"
#include "core/passing_upstream.h"
#include "layers/tool_call.h"
#include "layers/tool_catalog.h"
#include "net/loop.h"

namespace lineward::upstream {

class ToolUpstream final : public core::PassingUpstream {
 public:
  ToolUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server);
  ~ToolUpstream() override;

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::CallRequest&& request,
                                                           core::CallOwner& owner) override;
  void reconfigured() override;

  // For ToolCall.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  const config::Server& server() const { return server_; }
  ToolCatalog& book() { return book_; }
  std::string view_key(const core::CallRequest& request) const;
  // Asks for the list on behalf of `call`, which hears of it through learned(), never from here. A failure:
  // as many calls wait already as may.
  std::optional<core::Failure> learn(ToolCall& call);
  // False while its list lets us wait: a call goes on with what is known.
  bool may_learn(const std::string& view);
  void forget(ToolCall& call);
  // One more attempt within the budget?
  bool may_repeat();

 private:
  // Lineward's own tools/list, for the calls that wait.
  struct Listing final : core::CallOwner {
    Listing(ToolUpstream& its_upstream, const ToolCall& first);
    bool ask(std::string_view cursor);
    void on_call_phase(core::CallPhase phase) override;
    void on_call_message(mcp::Message&& message) override;
    void on_call_failed(const core::Failure& failure) override;
    void ran_out();
    // All of it stands in there, and nothing has changed since it was asked for.
    bool is_kept_in(const ToolView& its_view) const {
      return its_view.number == kept_in && upstream.book_.changes() == changes;
    }

    ToolUpstream& upstream;
    std::string view;
    // Whose list it is; its message asks for the first page. What made it necessary, which may be long, is
    // not kept.
    core::CallRequest like;
    HeldBytes held{Held::calls};                // of it
    std::unique_ptr<core::WaitingPlace> place;  // until it is asked for: that of the first that waits
    std::unique_ptr<core::Call> call;
    std::vector<ToolCall*> waiting;
    std::string cursor;
    uint32_t pages = 0;
    uint64_t changes = 0;  // of the server's list, that were told before
    uint64_t kept_in = 0;  // ToolView::number, as of the first page
    core::CallPhase phase = core::CallPhase::queued;
    std::optional<std::chrono::milliseconds> starting_at;  // its server is being started since then
    bool overdue = false;  // no client waits for it any more; what it brings is for those who come
    net::Timer limit, patience;
  };
  void listed(Listing& listing, bool to_the_end);
  // The listing is over; those that waited for it.
  std::vector<ToolCall*> end(Listing& listing);
  void drop(Listing& listing);
  // The list is not asked for again at once: these callers' own, or, where all have one process, everybody's.
  enum class Whose : uint8_t { callers, everybodys };
  void pause(ToolView& view, Whose whose, std::string_view event);
  // Those who wait go on without the list, and nobody waits for it for a while.
  void go_without(Listing& listing);
  HeaderRole role_of(const core::CallRequest& request) const;
  bool is_stdio() const { return server_.url.empty(); }

  net::Loop& loop_;
  const config::Server& server_;
  ToolCatalog book_;
  std::map<std::string, std::unique_ptr<Listing>> listings_;  // by view
  double repeats_left_ = 0;
  double repeats_per_call_ = 0;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

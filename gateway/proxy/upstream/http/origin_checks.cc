#include "proxy/upstream/http/origin_checks.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/http_sub_request.h"
#include "proxy/upstream/http/origin_set.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

OriginChecks::OriginChecks(const HttpParts& parts) : parts_(parts), timer_(parts.loop) {}

void OriginChecks::start() {
  const auto every = parts_.server.origins.check;
  const bool is_mine = !parts_.shared || parts_.shared.worker == parts_.shared.home;
  if (every.count() == 0 || !is_mine || !parts_.origins.are_several()) return timer_.stop();
  timer_.start(every, [this] { check_all(); });
}

void OriginChecks::check_all() {
  for (Origin* origin : parts_.origins.checked()) {
    if ((under_way_ & origin->bit()) == 0) check(*origin);
  }
  start();
}

// A legacy server may refuse a ping without a session: that is an answer too.
void OriginChecks::check(Origin& origin) {
  under_way_ |= origin.bit();
  const bool is_modern = parts_.era.is_modern();
  SubRequestPlan plan;
  plan.id = parts_.ids.next();
  plan.origin.take(origin, OriginUse::As::other);
  plan.limit = parts_.server.origins.check_timeout;
  plan.option = "origins.checkTimeout";
  plan.request.headers = base_headers(parts_.server, HttpVerb::post);
  plan.request.body = is_modern ? mcp::discover_request(plan.id)
                                : fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"ping"}})", plan.id);
  if (is_modern) {
    if (auto message = mcp::Message::parse(plan.request.body))
      add_modern_headers(plan.request.headers, *message, {});
  }
  plan.done =
      lifetime_.guard([this, at = &origin](const std::optional<mcp::Message>&, const MessagesEnd& end) {
        under_way_ &= ~at->bit();
        const bool is_late = end.status == 0 && end.fault.reason == mcp::EndReason::timeout_startup;
        if (is_late && !end.held_back) at->timed_out();
      });
  parts_.sub_requests.run(std::move(plan));
}

}  // namespace lineward::upstream

#include "proxy/upstream/stdio/instance_requests.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "foundation/json/json_scan.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/upstream/shared/own_limits.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// The answer passed to the callback of one of Lineward's own requests that gets none.
mcp::Message no_own_answer() {
  return std::move(*mcp::Message::parse(mcp::error_message("0", mcp::kInternalError, "no answer in time")));
}

}  // namespace

void OwnRequests::send(std::string_view method, std::string_view params, ListenServer::OwnAnswer answered) {
  PendingCall entry;
  entry.own = true;
  entry.own_answer = std::move(answered);
  const milliseconds limit = own_limit(server_, method);
  entry.due = loop_.now() + limit;
  const int64_t id = calls_.add(std::move(entry));
  ring_in(limit);
  wire_.write(
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params));
}

void OwnRequests::ring_in(milliseconds limit) {
  const milliseconds due = loop_.now() + limit;
  if (timer_.running() && rings_at_ <= due) return;
  rings_at_ = due;
  timer_.start(limit, [this] { cancel_late(); });
}

// Late requests are cancelled like a client's; their ids are remembered for a late answer.
void OwnRequests::cancel_late() {
  std::vector<int64_t> late;
  milliseconds next{0};
  for (const auto& [id, entry] : calls_.all()) {
    if (entry.due.count() == 0) continue;
    if (entry.due <= loop_.now()) {
      late.push_back(id);
    } else if (next.count() == 0 || entry.due < next) {
      next = entry.due;
    }
  }
  if (next.count() > 0) ring_in(next - loop_.now());
  for (int64_t id : late) {
    PendingCall* entry = calls_.find(id);
    if (entry == nullptr) continue;
    entry->due = milliseconds(0);
    auto answered = std::exchange(entry->own_answer, nullptr);
    log::write(log::Level::info, "upstream.own_request_late",
               {{"upstream", server_.name}, {"upstream_id", id}});
    cancels_.cancel_own(id);
    if (answered) answered(no_own_answer());
  }
  if (!late.empty()) wire_.tell_free();
}

}  // namespace lineward::upstream

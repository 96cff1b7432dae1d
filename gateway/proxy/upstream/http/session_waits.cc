#include "proxy/upstream/http/session_waits.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/mcp/methods.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

// Limit for each of these answers; after it calls are sent anyway.
constexpr std::chrono::milliseconds kAnswerPatience{1000};

}  // namespace

bool SessionWaits::takes(const core::UpstreamRequest& request) const {
  // Its first log messages would be lost.
  const bool wants_lines = request.message.has(Field::meta_log_level) || !request.log_wish.level.empty();
  if (level_pending_ && wants_lines) return false;
  return !pinged_ || !mcp::may_ask(request.method);
}

void SessionWaits::stop() {
  level_timer_.stop();
  ping_timer_.stop();
}

// ---- the log level ----

// Calls with this level wait for it for kAnswerPatience; the request itself has longer.
void SessionWaits::want_level(const core::UpstreamRequest& request) {
  const std::string params = level_.lower_for(request, owner_.legacy_server());
  if (params.empty()) return;
  level_pending_ = true;
  level_timer_.start(kAnswerPatience, [this] { level_set(); });
  requests_.ask("logging/setLevel", params,
                [this, level = level_.value()](std::optional<mcp::Message>, const MessagesEnd& end) {
                  if (owner_.check_lost(end) || level != level_.value()) return;  // a lower one is being set
                  level_timer_.stop();
                  level_set();
                });
}

void SessionWaits::level_set() {
  if (std::exchange(level_pending_, false)) owner_.on_wait_over();
}

// ---- a turn ----

void SessionWaits::stream_settled() {
  if (std::exchange(settles_first_, false)) acquire_turn();
}

// Calls that allow server requests wait until the ping and the subscriptions sent meanwhile are answered, or
// kAnswerPatience has passed.
void SessionWaits::acquire_turn() {
  if (!owner_.is_ready() || pinged_ || !answers_pings_) return;
  pinged_ = true;
  awaited_ = 1;
  answers_pings_ = false;  // until it has answered this one
  ++turn_;
  ping_timer_.start(kAnswerPatience, [this] { turn_settled(); });
  requests_.ask("ping", "{}",
                [this, turn = turn_](std::optional<mcp::Message> answer, const MessagesEnd& end) {
                  if (owner_.check_lost(end)) return;
                  answers_pings_ = pinged_ && answer.has_value();
                  left(turn);
                });
}

// Changes made by a call are not notified before the subscription is answered.
uint32_t SessionWaits::join(std::string_view method) {
  if (!pinged_ || mcp::method_of(method) != Method::resources_subscribe) return 0;
  ++awaited_;
  return turn_;
}

void SessionWaits::left(uint32_t turn) {
  if (turn != 0 && pinged_ && turn == turn_ && --awaited_ == 0) turn_settled();
}

void SessionWaits::turn_settled() {
  ping_timer_.stop();
  pinged_ = false;
  owner_.on_wait_over();
}

}  // namespace lineward::upstream

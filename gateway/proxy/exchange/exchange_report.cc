#include "proxy/exchange/exchange_report.h"

#include "foundation/log/excerpt.h"
#include "foundation/log/tap.h"
#include "proxy/audit/audit.h"
#include "proxy/exchange/exchange_plugins.h"

namespace lineward::exchange {
namespace {

using mcp::EndReason;

// Maximum bytes of client texts in views and logs.
constexpr size_t kShownTarget = 200;
constexpr size_t kLoggedMethod = 100;
constexpr size_t kShownId = 64;
// Enough to tell sessions apart, and too little to use one.
constexpr size_t kShownSession = 8;

// Number of attempts; empty if only one.
std::string repeats(const CallRecord& record) {
  return record.attempts() == 1 ? std::string() : std::to_string(record.attempts());
}

}  // namespace

// ---- the end ----

void ExchangeReport::count_end(EndReason reason, int code) const {
  const core::ClientRequest& from = exchange_.from();
  CallRecord::End end;
  end.method = from.method;
  end.reason = reason;
  end.code = code;
  end.revision = from.revision;
  end.target = exchange_.routed_ ? exchange_.routed_->target : from.target;
  end.took = exchange_.clock_.elapsed();
  end.at_server = exchange_.clock_.at_server();
  end.answer_read_at = exchange_.server_answer_ != ServerAnswer::none ? exchange_.loop_.read_at() : 0;
  if (exchange_.plugins_) end.trace = exchange_.plugins_->sampled_trace();
  exchange_.record_.ended(end);
}

void ExchangeReport::write_end(EndReason reason, int code) const {
  const bool failed = !mcp::has(reason, mcp::kExpected) && reason != EndReason::tool_error;
  const log::Level level = failed ? log::Level::warn : log::Level::info;
  if (!log::enabled_often(level)) return;
  const core::ClientRequest& from = exchange_.from();
  log::write_often(level, "call.end",
                   {{"upstream", exchange_.server_name()},
                    {"route", exchange_.route()},
                    {"call", from.call_id},
                    {"rpc_id", log::Excerpt(from.raw_id, kShownId)},
                    {"method", log::Excerpt(from.method_name, kLoggedMethod)},
                    {"target", log::Excerpt(from.target, kShownTarget)},
                    {"reason", mcp::name(reason)},
                    {"code", code == 0 ? std::string() : std::to_string(code)},
                    {"policy", exchange_.record_.policy()},
                    {"why", exchange_.record_.error_text()},
                    {"dur_ms", exchange_.clock_.elapsed().count()},
                    {"queue_ms", exchange_.clock_.queued_for().count()},
                    {"attempts", repeats(exchange_.record_)},
                    {"bytes_in", from.bytes_in},
                    {"bytes_out", exchange_.reply_->bytes_out()},
                    {"era", mcp::name(from.era)},
                    {"principal", from.caller ? std::string_view(from.caller->name) : std::string_view()},
                    {"remote", from.peer},
                    {"trace_id", exchange_.plugins_ ? exchange_.plugins_->trace_id() : std::string_view()},
                    {"span_id", exchange_.plugins_ ? exchange_.plugins_->span_id() : std::string_view()}},
                   // A request that reached no server is cheap for its client: rate-limit its log events.
                   failed && !exchange_.clock_.was_written() ? log::Rated::yes : log::Rated::no);
}

void ExchangeReport::record_end(EndReason reason, int code) const {
  if (!audit::active()) return;
  const core::ClientRequest& from = exchange_.from();
  const CallRecord& record = exchange_.record_;
  audit::record(audit::Kind::call,
                {{"call", from.call_id},
                 {"who", from.caller ? std::string_view(from.caller->name) : core::kAnonymous},
                 {"principal", from.caller ? std::string_view(from.caller->principal) : std::string_view()},
                 {"from", from.peer},
                 {"server", exchange_.server_name()},
                 {"route", exchange_.route()},
                 {"method", from.method_name},
                 {"target", from.target},
                 {"era", mcp::name(from.era)},
                 {"session", std::string_view(from.session).substr(0, kShownSession)},
                 {"client", record.client_info()},
                 {"end", mcp::name(reason)},
                 {"code", code == 0 ? std::string() : std::to_string(code)},
                 {"policy", record.policy()},
                 {"why", record.error_text()},
                 {"sent", exchange_.clock_.was_written() ? "yes" : "no"},
                 {"attempts", repeats(record)},
                 {"dur_ms", exchange_.clock_.elapsed().count()},
                 {"bytes_in", from.bytes_in},
                 {"bytes_out", exchange_.reply_->bytes_out()},
                 {"arguments", record.arguments()}});
}

// ---- views ----

CallView ExchangeReport::view() const {
  const core::ClientRequest& from = exchange_.from();
  CallView view;
  view.id = from.call_id;
  view.rpc_id = log::Excerpt(from.raw_id, kShownId).string();
  view.upstream = exchange_.server_name();
  view.route = exchange_.route();
  view.method = log::Excerpt(from.method_name, kShownTarget).string();
  view.target = log::Excerpt(from.target, kShownTarget).string();
  view.peer = from.peer;
  view.session = from.session;
  if (from.caller) view.caller = from.caller->name;
  view.era = from.era;
  view.revision = from.revision;
  exchange_.clock_.show(view);
  if (exchange_.acknowledged_ && view.questions == 0) view.state = CallState::listening;
  if (exchange_.record_.has_progress()) view.progress_ago = exchange_.clock_.progress_ago();
  exchange_.record_.show(view);
  view.bytes_in = from.bytes_in;
  return view;
}

void ExchangeReport::fill(EndedCall& ended, EndReason reason, int code) const {
  const core::ClientRequest& from = exchange_.from();
  CallView& call = ended.call;
  call.id = from.call_id;
  call.rpc_id = std::string_view(log::Excerpt(from.raw_id, kShownId));
  call.upstream = exchange_.server_name();
  call.route = exchange_.route();
  call.method = std::string_view(log::Excerpt(from.method_name, kShownTarget));
  call.target = std::string_view(log::Excerpt(from.target, kShownTarget));
  call.peer = from.peer;
  call.session = from.session;
  if (from.caller) {
    call.caller = from.caller->name;
  } else {
    call.caller.clear();
  }
  call.era = from.era;
  call.revision = from.revision;
  call.state = CallState::ended;
  call.age = exchange_.clock_.elapsed();
  call.queued_for = exchange_.clock_.queued_for();
  call.left.reset();
  call.progress_ago.reset();
  call.sent_after = exchange_.clock_.sent_after();
  exchange_.record_.give_to(ended);
  call.questions = 0;
  call.ahead = 0;
  call.bytes_in = from.bytes_in;
  call.timeline = exchange_.clock_.timeline();
  ended.reason = reason;
  ended.code = code;
  ended.bytes_out = exchange_.reply_->bytes_out();
  ended.ended_at = exchange_.loop_.now();
}

}  // namespace lineward::exchange

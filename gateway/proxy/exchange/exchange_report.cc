#include "proxy/exchange/exchange.h"

#include "foundation/log/excerpt.h"
#include "foundation/log/tap.h"
#include "proxy/audit/audit.h"

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

void Exchange::count_end(EndReason reason, int code) {
  const core::ClientRequest& from = *from_;
  CallRecord::End end;
  end.method = from.method;
  end.reason = reason;
  end.code = code;
  end.revision = from.revision;
  end.target = routed_ ? routed_->target : from.target;
  end.took = clock_.elapsed();
  end.at_server = clock_.at_server();
  end.answer_read_at = server_answer_ != ServerAnswer::none ? loop_.read_at() : 0;
  if (hooks_ && hooks_->sampled == plugin::Sampled::yes) end.trace = {hooks_->trace_id, hooks_->span_id};
  record_.ended(end);
}

void Exchange::write_end(EndReason reason, int code) const {
  const bool failed = !mcp::has(reason, mcp::kExpected) && reason != EndReason::tool_error;
  const log::Level level = failed ? log::Level::warn : log::Level::info;
  if (!log::enabled_often(level)) return;
  const core::ClientRequest& from = *from_;
  log::write_often(level, "call.end",
                   {{"upstream", server_name()},
                    {"route", route()},
                    {"call", from.call_id},
                    {"rpc_id", log::Excerpt(from.raw_id, kShownId)},
                    {"method", log::Excerpt(from.method_name, kLoggedMethod)},
                    {"target", log::Excerpt(from.target, kShownTarget)},
                    {"reason", mcp::name(reason)},
                    {"code", code == 0 ? std::string() : std::to_string(code)},
                    {"policy", record_.policy()},
                    {"why", record_.error_text()},
                    {"dur_ms", clock_.elapsed().count()},
                    {"queue_ms", clock_.queued_for().count()},
                    {"attempts", repeats(record_)},
                    {"bytes_in", from.bytes_in},
                    {"bytes_out", reply_->bytes_out()},
                    {"era", mcp::name(from.era)},
                    {"principal", from.caller ? std::string_view(from.caller->name) : std::string_view()},
                    {"remote", from.peer},
                    {"trace_id", hooks_ ? std::string_view(hooks_->trace_id) : std::string_view()},
                    {"span_id", hooks_ ? std::string_view(hooks_->span_id) : std::string_view()}},
                   // A request that reached no server is cheap for its client: rate-limit its log events.
                   failed && !clock_.was_written() ? log::Rated::yes : log::Rated::no);
}

void Exchange::audit_end(EndReason reason, int code) const {
  if (!audit::active()) return;
  const core::ClientRequest& from = *from_;
  audit::record(audit::Kind::call,
                {{"call", from.call_id},
                 {"who", from.caller ? std::string_view(from.caller->name) : core::kAnonymous},
                 {"principal", from.caller ? std::string_view(from.caller->principal) : std::string_view()},
                 {"from", from.peer},
                 {"server", server_name()},
                 {"route", route()},
                 {"method", from.method_name},
                 {"target", from.target},
                 {"era", mcp::name(from.era)},
                 {"session", std::string_view(from.session).substr(0, kShownSession)},
                 {"client", record_.client_info()},
                 {"end", mcp::name(reason)},
                 {"code", code == 0 ? std::string() : std::to_string(code)},
                 {"policy", record_.policy()},
                 {"why", record_.error_text()},
                 {"sent", clock_.was_written() ? "yes" : "no"},
                 {"attempts", repeats(record_)},
                 {"dur_ms", clock_.elapsed().count()},
                 {"bytes_in", from.bytes_in},
                 {"bytes_out", reply_->bytes_out()},
                 {"arguments", record_.arguments()}});
}

// ---- views ----

CallView Exchange::view() const {
  const core::ClientRequest& from = *from_;
  CallView view;
  view.id = from.call_id;
  view.rpc_id = log::Excerpt(from.raw_id, kShownId).string();
  view.upstream = server_name();
  view.route = route();
  view.method = log::Excerpt(from.method_name, kShownTarget).string();
  view.target = log::Excerpt(from.target, kShownTarget).string();
  view.peer = from.peer;
  view.session = from.session;
  if (from.caller) view.caller = from.caller->name;
  view.era = from.era;
  view.revision = from.revision;
  clock_.show(view);
  if (acknowledged_ && view.questions == 0) view.state = CallState::listening;
  if (record_.has_progress()) view.progress_ago = clock_.progress_ago();
  record_.show(view);
  view.bytes_in = from.bytes_in;
  return view;
}

void Exchange::fill(EndedCall& ended, EndReason reason, int code) {
  const core::ClientRequest& from = *from_;
  CallView& call = ended.call;
  call.id = from.call_id;
  call.rpc_id = std::string_view(log::Excerpt(from.raw_id, kShownId));
  call.upstream = server_name();
  call.route = route();
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
  call.age = clock_.elapsed();
  call.queued_for = clock_.queued_for();
  call.left.reset();
  call.progress_ago.reset();
  call.sent_after = clock_.sent_after();
  record_.give_to(ended);
  call.questions = 0;
  call.ahead = 0;
  call.bytes_in = from.bytes_in;
  call.timeline = clock_.timeline();
  ended.reason = reason;
  ended.code = code;
  ended.bytes_out = reply_->bytes_out();
  ended.ended_at = loop_.now();
}

}  // namespace lineward::exchange

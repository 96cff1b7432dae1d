#include "proxy/plugin/abi/shared_host.h"

#include <algorithm>

#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "proxy/plugin/client_facts.h"
#include "proxy/plugin/header_rules.h"

namespace lineward::plugin {

lineward_text to_text(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view from_text(lineward_text text, size_t most) {
  if (text.data == nullptr || text.size == 0 || text.size > most) return {};
  return {text.data, text.size};
}

bool is_json_object(std::string_view text) {
  json::Cursor cursor(text, json::kDepthCeiling);
  return cursor.at_object() && json::validate(text, json::kDepthCeiling) == json::Fault::none;
}

namespace {

using mcp::EndReason;

constexpr size_t kMaxLine = 2000;
constexpr size_t kMaxRefusal = 300;
constexpr size_t kMaxHeaders = 16;

core::PolicyError refusal_from(const lineward_refusal* plain) {
  core::PolicyError refusal;
  if (plain == nullptr || plain->size < sizeof(lineward_refusal)) {
    refusal.reason = EndReason::internal;
    refusal.text = "the plugin refused in a way that it has not explained";
    return refusal;
  }
  switch (plain->reason) {
    case LINEWARD_FORBIDDEN: refusal.reason = EndReason::forbidden; break;
    case LINEWARD_RATE_LIMITED: refusal.reason = EndReason::rate_limited; break;
    case LINEWARD_UNAUTHORIZED: refusal.reason = EndReason::unauthorized; break;
    case LINEWARD_INVALID_REQUEST: refusal.reason = EndReason::invalid_request; break;
    default: refusal.reason = EndReason::internal; break;
  }
  refusal.text = sanitize(from_text(plain->text), kMaxRefusal);
  refusal.code = plain->code;
  refusal.retry_after_ms = plain->retry_after_ms;
  for (size_t i = 0; plain->headers != nullptr && i < std::min(plain->header_count, kMaxHeaders); ++i) {
    std::string_view name = from_text(plain->headers[i].name), value = from_text(plain->headers[i].value);
    if (may_set_reply_header(name, value)) refusal.headers.emplace_back(name, value);
  }
  return refusal;
}

void do_log(lineward_host* host, int level, lineward_text line) {
  static constexpr log::Level kLevels[] = {log::Level::debug, log::Level::info, log::Level::warn,
                                           log::Level::error};
  log::Level at = level >= 0 && level <= LINEWARD_LOG_ERROR ? kLevels[level] : log::Level::info;
  const std::string text = log::Excerpt(from_text(line), kMaxLine).string();
  if (std::this_thread::get_id() == host->loop_thread) {
    log::write(at, "plugin.log", {{"plugin", host->name}, {"line", text}});
  } else {
    log::write_aside(at, "plugin.log", {{"plugin", host->name}, {"line", text}});
  }
}

void do_facts(lineward_exchange* exchange, lineward_facts* out) {
  RequestInfo facts = exchange->view->facts();
  lineward_facts full{};
  full.size = std::min(out->size, sizeof full);
  full.call_id = to_text(facts.call_id);
  full.server = to_text(facts.upstream);
  full.method = to_text(facts.method_name);
  full.target = to_text(facts.target);
  full.revision = to_text(facts.revision);
  full.peer = to_text(facts.peer);
  full.id = to_text(facts.raw_id);
  full.principal = to_text(facts.principal);
  full.session = to_text(facts.session);
  full.bytes_in = facts.bytes_in;
  full.legacy = facts.era == mcp::Era::legacy ? 1 : 0;
  full.on_stdio = facts.on_stdio ? 1 : 0;
  full.listener = to_text(listener_of(facts));
  std::copy_n(reinterpret_cast<const char*>(&full), full.size, reinterpret_cast<char*>(out));
}

lineward_text do_header(lineward_exchange* exchange, lineward_text name) {
  return to_text(exchange->view->header(from_text(name)));
}

int do_set_upstream_header(lineward_exchange* exchange, lineward_text name, lineward_text value) {
  if (!may_set_upstream_header(from_text(name), from_text(value))) return 0;
  exchange->view->set_upstream_header(from_text(name), std::string(from_text(value)));
  return 1;
}

int do_add_reply_header(lineward_exchange* exchange, lineward_text name, lineward_text value) {
  if (!may_set_reply_header(from_text(name), from_text(value))) return 0;
  exchange->view->add_reply_header(from_text(name), std::string(from_text(value)));
  return 1;
}

void do_refuse(lineward_exchange* exchange, const lineward_refusal* refusal) {
  if (exchange->in_call) exchange->view->refuse(refusal_from(refusal));
}

int do_answer(lineward_exchange* exchange, lineward_text result) {
  if (!exchange->in_call || !is_json_object(from_text(result))) return 0;
  exchange->view->answer(std::string(from_text(result)));
  return 1;
}

int do_set_message(lineward_exchange* exchange, lineward_text bytes) {
  if (!exchange->in_call || exchange->message == nullptr) return 0;
  auto parsed = mcp::Message::parse(std::string(from_text(bytes)), json::kDepthCeiling);
  if (!parsed) return 0;
  *exchange->message = std::move(*parsed);
  return 1;
}

lineward_ticket* do_begin_wait(lineward_exchange* exchange) {
  return exchange->begin_wait();
}

void do_resume(lineward_ticket* given, const lineward_decision* decision) {
  std::unique_ptr<lineward_ticket> ticket(given);
  if (!ticket) return;
  Decided decided;
  decided.wait = ticket->wait;
  if (decision != nullptr && decision->size >= sizeof(lineward_decision)) {
    decided.verdict = decision->verdict;
    if (decision->refusal != nullptr) decided.refusal = refusal_from(decision->refusal);
    decided.answer = from_text(decision->answer);
    decided.message = from_text(decision->message);
  }
  std::lock_guard<std::mutex> lock(ticket->mailbox->mutex);
  if (ticket->mailbox->wakeup == nullptr) return;
  ticket->mailbox->decided.push_back(std::move(decided));
  ticket->mailbox->wakeup->wake();
}

}  // namespace

const lineward_host_api& host_api() {
  static constexpr lineward_host_api kHostApi{sizeof(lineward_host_api),
                                              LINEWARD_PLUGIN_ABI,
                                              do_log,
                                              do_facts,
                                              do_header,
                                              do_set_upstream_header,
                                              do_add_reply_header,
                                              do_refuse,
                                              do_answer,
                                              do_set_message,
                                              do_begin_wait,
                                              do_resume};
  return kHostApi;
}

}  // namespace lineward::plugin

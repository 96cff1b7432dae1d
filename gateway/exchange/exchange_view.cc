// What people and metrics learn of an exchange: the other half of exchange/exchange.h. Nothing here decides
// anything.
#include "base/json_member.h"
#include "config/aggregate.h"
#include "exchange/exchange.h"

namespace lineward::exchange {
namespace {

using core::CallPhase;
using core::ListenType;
using core::NameTable;
using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Of each text that is kept only to be shown.
constexpr size_t kShown = 1024;
constexpr size_t kShownTarget = 200;

std::string cut(std::string_view text) {
  return std::string(text.size() > kShown ? std::string_view() : text);  // half of a JSON text is none
}

void shorten(std::string& text) {
  if (text.size() <= kShownTarget) return;
  text.resize(kShownTarget);
  text.shrink_to_fit();
}

std::optional<ListenType> event_type(Method method) {
  switch (method) {
    case Method::tools_list_changed: return ListenType::tools;
    case Method::prompts_list_changed: return ListenType::prompts;
    case Method::resources_list_changed: return ListenType::resources;
    case Method::resources_updated: return ListenType::resource;
    default: return std::nullopt;
  }
}

double seconds(milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

void Exchange::note_people() {
  Field info = arrival_.method == Method::initialize ? Field::params_client_info : Field::meta_client_info;
  client_info_ = cut(arrival_.message.raw(info));
  if (is_listen()) listens_ = cut(arrival_.message.raw(Field::params_notifications));
}

std::shared_ptr<const core::Origin> Exchange::origin() const {
  if (!config::is_aggregate(arrival_.upstream) || !home_.plugins()) return nullptr;
  auto out = std::make_shared<core::Origin>();
  out->endpoint = arrival_.upstream;
  out->call_id = call_id_;
  out->raw_id = raw_id_;
  out->peer = arrival_.peer;
  out->caller = arrival_.caller;
  out->seen = arrival_.seen;
  out->session = arrival_.session;
  out->bytes_in = arrival_.bytes_in;
  return out;
}

void Exchange::note_progress(const mcp::Message& message) {
  ++events_;
  std::string_view params = message.raw(Field::params);
  if (params.size() <= kShown) progress_.assign(params);
}

void Exchange::learn_names(const mcp::Message& result) {
  if (result.kind() != mcp::MessageKind::result || stats_ == nullptr) return;
  bool tools = arrival_.method == Method::tools_list;
  NameTable& names = tools ? stats_->tools : stats_->prompts;
  const std::string_view list = result.raw(tools ? Field::result_tools : Field::result_prompts);
  if (names.size() >= NameTable::kMost) return;
  json::Cursor cursor(list);
  if (!cursor.at_array() || !cursor.enter_array()) return;
  json::Span element;
  while (names.size() < NameTable::kMost && cursor.next_element() && cursor.skip(element))
    names.learn(json::string_value(json::member(element.in(list), "name")));
}

void Exchange::cancel_call(EndReason reason, std::string_view why) {
  if (!call_ || !call_->live()) return;
  home_.cancelling(*this, core::initiator_of(reason));
  call_->cancel(why);
}

// ---- counting ----

void Exchange::count_written() {
  if (stats_ == nullptr) return;
  stats_->queue_wait.observe(queued_for_);
  // What else a call waits for (a place, a process, a connection) takes other turns of the loop: it is not
  // ours.
  if (loop_.now() != started_ || read_at_ == 0) return;
  core::stats().overhead_request.observe(std::chrono::nanoseconds(net::Loop::nanoseconds() - read_at_));
}

void Exchange::count_end(EndReason reason, int code) {
  if (stats_ == nullptr) {
    ++core::stats().refused;
    return;
  }
  ++stats_->ends[static_cast<size_t>(arrival_.method)][static_cast<size_t>(reason)];
  core::Operation operation;
  operation.method = arrival_.method;
  operation.revision = core::revision_slot(arrival_.revision);
  operation.reason = reason;
  operation.code = core::code_slot(code);
  const std::string& target = routed_ ? routed_->target : target_;
  if (arrival_.method == Method::tools_call) operation.name = stats_->tools.find(target);
  if (arrival_.method == Method::prompts_get) operation.name = stats_->prompts.find(target);
  stats_->server_operations.observe(operation, seconds(elapsed()));
  if (phase_ == CallPhase::written)
    stats_->client_operations.observe(operation, seconds(loop_.now() - written_at_));
  if (answered_by_server_ && loop_.read_at() != 0) {
    core::stats().overhead_response.observe(
        std::chrono::nanoseconds(net::Loop::nanoseconds() - loop_.read_at()));
  }
}

void Exchange::count_listen_event(Method method) {
  auto type = event_type(method);
  if (!type || stats_ == nullptr) return;
  ++events_;
  ++stats_->subscription_events[static_cast<size_t>(*type)];
}

void Exchange::count_listens(std::array<uint64_t, core::size_of<ListenType>>& sums) const {
  if (!is_listen()) return;
  auto add = [&](ListenType type) { ++sums[static_cast<size_t>(type)]; };
  json::for_each_member(listens_, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged" && value == "true") add(ListenType::tools);
    if (key == "promptsListChanged" && value == "true") add(ListenType::prompts);
    if (key == "resourcesListChanged" && value == "true") add(ListenType::resources);
    if (key == "resourceSubscriptions" && value.size() > 2) add(ListenType::resource);
  });
}

// ---- views ----

CallView Exchange::view() const {
  CallView view;
  view.id = call_id_;
  view.upstream = server_name();
  view.route = route();
  view.method = method_.substr(0, kShownTarget);
  view.target = target_.substr(0, kShownTarget);
  view.peer = arrival_.peer;
  view.session = arrival_.session;
  if (arrival_.caller) view.caller = arrival_.caller->name;
  view.client_info = client_info_;
  view.era = arrival_.era;
  view.revision = arrival_.revision;
  view.age = elapsed();
  if (due_at_.count() > 0) {
    view.left = std::max(due_at_ - loop_.now(), milliseconds(0));
    view.limit = due_.option;
  }
  view.queued_for = queued_for_;
  switch (phase_) {
    case CallPhase::queued:
    case CallPhase::no_room:
      view.state = CallState::queued;
      view.queued_for += loop_.now() - phase_since_;
      break;
    case CallPhase::starting: view.state = CallState::starting; break;
    case CallPhase::written: view.state = CallState::running; break;
  }
  if (phase_ == CallPhase::written) view.sent_after = written_at_ - started_;
  if (acknowledged_) view.state = CallState::listening;
  if (open_questions_ > 0) view.state = CallState::input;
  view.progress = progress_;
  if (!progress_.empty()) view.progress_ago = loop_.now() - last_progress_;
  view.listens = listens_;
  view.events = events_;
  view.questions = open_questions_;
  view.bytes_in = arrival_.bytes_in;
  return view;
}

// Sets every member that is ever shown: the place holds another call's.
void Exchange::tell_story(EndedCall& ended, EndReason reason, int code) {
  CallView& call = ended.call;
  call.id = call_id_;
  call.upstream = server_name();
  call.route = route();
  shorten(method_);
  shorten(target_);
  call.method = std::move(method_);
  call.target = std::move(target_);
  call.peer = std::move(arrival_.peer);
  call.session = arrival_.session;
  call.caller = arrival_.caller ? arrival_.caller->name : std::string();
  call.client_info = std::move(client_info_);
  call.era = arrival_.era;
  call.revision = std::move(arrival_.revision);
  call.state = CallState::ended;
  call.age = elapsed();
  call.queued_for = queued_for_;
  call.left.reset();
  call.sent_after.reset();
  call.progress_ago.reset();
  if (phase_ == CallPhase::written) call.sent_after = written_at_ - started_;
  call.progress = std::move(progress_);
  call.listens = std::move(listens_);
  call.events = events_;
  call.questions = 0;
  call.ahead = 0;
  call.bytes_in = arrival_.bytes_in;
  ended.reason = reason;
  ended.code = code;
  ended.text = std::move(error_text_);
  ended.bytes_out = reply_->bytes_out();
  ended.ended_at = loop_.now();
}

}  // namespace lineward::exchange

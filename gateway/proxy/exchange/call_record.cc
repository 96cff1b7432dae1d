#include "proxy/exchange/call_record.h"

#include <utility>

#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "foundation/net/loop.h"
#include "proxy/audit/audit.h"

namespace lineward::exchange {
namespace {

using mcp::Field;
using mcp::Method;
using metrics::ListenType;
using metrics::NameTable;
using std::chrono::milliseconds;

// Maximum bytes of each text that is kept for display.
constexpr size_t kShown = 1024;
constexpr size_t kMaxErrorText = 500;

std::string cut(std::string_view text) {
  return std::string(text.size() > kShown ? std::string_view() : text);  // a cut JSON text would be invalid
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

std::chrono::nanoseconds since(uint64_t read_at) {
  return std::chrono::nanoseconds(net::Loop::nanoseconds() - read_at);
}

}  // namespace

CallRecord::CallRecord(Method method, const mcp::Message& request, uint64_t read_at) : read_at_(read_at) {
  Field info = method == Method::initialize ? Field::params_client_info : Field::meta_client_info;
  client_info_ = cut(request.raw(info));
  if (method == Method::subscriptions_listen) listens_ = cut(request.raw(Field::params_notifications));
  if (audit::active() && request.has(Field::params_arguments))
    arguments_ = audit::recorded_arguments(request.raw(Field::params_arguments));
}

void CallRecord::progressed(const mcp::Message& notification) {
  ++events_;
  std::string_view params = notification.raw(Field::params);
  if (params.size() <= kShown) progress_.assign(params);
}

void CallRecord::listen_told(Method method) {
  auto type = event_type(method);
  if (!type || stats_ == nullptr) return;
  ++events_;
  ++stats_->subscription_events[static_cast<size_t>(*type)];
}

void CallRecord::learn_names(Method list_method, const mcp::Message& answer) {
  if (answer.kind() != mcp::MessageKind::result || stats_ == nullptr) return;
  bool tools = list_method == Method::tools_list;
  NameTable& names = tools ? stats_->tools : stats_->prompts;
  const std::string_view list = answer.raw(tools ? Field::result_tools : Field::result_prompts);
  if (names.size() >= NameTable::kMaxEntries) return;
  json::Cursor cursor(list);
  if (!cursor.at_array() || !cursor.enter_array()) return;
  json::Span element;
  while (names.size() < NameTable::kMaxEntries && cursor.next_element() && cursor.skip(element))
    names.learn(json::string_value(json::member(element.in(list), "name")));
}

void CallRecord::failed(std::string_view text) {
  error_text_ = log::Excerpt(text, kMaxErrorText).string();
}

// ---- counting ----

void CallRecord::written(milliseconds queued_for, bool at_once) {
  if (stats_ == nullptr) return;
  stats_->queue_wait.observe(queued_for);
  // Waits for a place, a process or a connection take other turns, and are not Lineward's overhead.
  if (at_once && read_at_ != 0) metrics::stats().overhead_request.observe(since(read_at_));
}

void CallRecord::ended(const End& end) {
  if (stats_ == nullptr) return;
  ++stats_->ends[static_cast<size_t>(end.method)][static_cast<size_t>(end.reason)];
  metrics::Operation operation;
  operation.method = end.method;
  operation.revision = metrics::revision_slot(end.revision);
  operation.reason = end.reason;
  operation.code = metrics::code_slot(end.code);
  if (end.method == Method::tools_call) operation.name = stats_->tools.find(end.target);
  if (end.method == Method::prompts_get) operation.name = stats_->prompts.find(end.target);
  stats_->server_operations.observe(operation, seconds(end.took), end.trace);
  if (end.at_server && coalesced_ == core::Coalesced::no)
    stats_->client_operations.observe(operation, seconds(*end.at_server), end.trace);
  if (end.answer_read_at != 0) metrics::stats().overhead_response.observe(since(end.answer_read_at));
}

void CallRecord::count_listens(Listens& sums) const {
  auto add = [&](ListenType type) { ++sums[static_cast<size_t>(type)]; };
  json::for_each_member(listens_, [&](const std::string& key, std::string_view value) {
    if (key == "toolsListChanged" && value == "true") add(ListenType::tools);
    if (key == "promptsListChanged" && value == "true") add(ListenType::prompts);
    if (key == "resourcesListChanged" && value == "true") add(ListenType::resources);
    if (key == "resourceSubscriptions" && value.size() > 2) add(ListenType::resource);
  });
}

// ---- showing ----

void CallRecord::show(CallView& view) const {
  view.client_info = client_info_;
  view.progress = progress_;
  view.listens = listens_;
  view.events = events_;
}

void CallRecord::give_to(EndedCall& ended) {
  ended.call.client_info = std::move(client_info_);
  ended.call.progress = std::move(progress_);
  ended.call.listens = std::move(listens_);
  ended.call.events = events_;
  ended.text = std::move(error_text_);
}

}  // namespace lineward::exchange

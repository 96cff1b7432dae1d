#include "proxy/upstream/stdio/stdio_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "foundation/json/json_scan.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/shared/own_id.h"
#include "proxy/upstream/shared/own_limits.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A request is written only while the pipe is nearly empty: an unwritten one can be withdrawn silently.
constexpr size_t kPipeBacklog = 64 * 1024;
// Maximum unread bytes in answers to its own requests and in clients' notifications.
constexpr size_t kMaxOwed = 4 * 1024 * 1024;
constexpr milliseconds kPingPatience{1000};
// Maximum bytes of a client's cancel reason that is forwarded.
constexpr size_t kMaxReason = 1024;
// How often a slow reader gets another grace.
constexpr int kMostLooks = 10;

bool is_of_listens(const mcp::Message& message) {
  switch (mcp::method_of(message.method())) {
    case Method::subscriptions_acknowledged:
    case Method::resources_updated:
    case Method::tools_list_changed:
    case Method::prompts_list_changed:
    case Method::resources_list_changed: return true;
    default: return message.method().rfind("notifications/tasks", 0) == 0;
  }
}

// The answer passed to the callback of one of Lineward's own requests that gets none.
mcp::Message no_own_answer() {
  return std::move(*mcp::Message::parse(mcp::error_message("0", mcp::kInternalError, "no answer in time")));
}

}  // namespace

StdioInstance::StdioInstance(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                             InstanceCallbacks& owner, size_t& in_flight, std::string group,
                             InstancePlan plan)
    : loop_(loop),
      server_(server),
      owner_(&owner),
      stats_(metrics::upstream_stats(server.name)),
      number_(stats_.take_instance()),
      group_(std::move(group)),
      plan_(std::move(plan)),
      process_(loop, spawner, server, *this),
      calls_(loop, server, in_flight),
      write_later_(
          loop, [](void* self) { static_cast<StdioInstance*>(self)->write_cancels(); }, this) {
  record_.started_at = record_.last_used = loop.now();
}

void StdioInstance::list(std::vector<core::UpstreamStatus::Process>& out) const {
  constexpr std::string_view kSession = "session:";
  if (pid() <= 0) return;
  const bool has_one = group().rfind(kSession, 0) == 0;
  out.push_back({pid(), number_, has_one ? group().substr(kSession.size()) : std::string()});
}

void StdioInstance::ring(Alarm& alarm, milliseconds due, std::function<void()> then) {
  if (alarm.timer.running() && alarm.at <= due) return;
  alarm.at = due;
  alarm.timer.start(std::max(due - loop_.now(), milliseconds(0)), std::move(then));
}

// ---- the start ----

void StdioInstance::start() {
  age();
  if (!plan_.spare) limit_start();
  process_.start(plan_.about_caller);
}

void StdioInstance::age() {
  if (server_.pool.max_lifetime.count() == 0) return;
  // Processes that were started together should not expire together.
  thread_local std::minstd_rand random{std::random_device{}()};
  auto limit = server_.pool.max_lifetime * std::uniform_int_distribution<int>(90, 100)(random) / 100;
  lifetime_timer_.start(limit, [this] {
    // A server that takes longer to start than pool.maxLifetime would be replaced for ever, and never serve.
    const bool starts = state_ == State::handshake || (state_ == State::starting && !plan_.spare);
    if (starts) return age();
    owner_->on_instance_expired(*this, "reached pool.maxLifetime");
  });
}

void StdioInstance::adopt(InstanceCallbacks& owner, std::string group, InstancePlan plan) {
  owner_ = &owner;
  group_ = std::move(group);
  plan_ = std::move(plan);
  record_.last_used = record_.started_at = loop_.now();
  limit_start();
  // Deferred: the group that takes it has not added it to its list yet.
  if (process_up_) adopted_timer_.start(milliseconds(0), [this] { begin(); });
}

// Independent of its callers' limits: a process that never gets ready must make room for another.
void StdioInstance::limit_start() {
  start_timer_.start(server_.timeouts.startup, [this] {
    stop({EndReason::timeout_startup,
          fmt::format("was not ready within {} ms (lineward timeouts.startup)",
                      server_.timeouts.startup.count()),
          {}});
  });
}

void StdioInstance::on_process_started() {
  process_up_ = true;
  begin();
}

void StdioInstance::begin() {
  if (state_ == State::down || plan_.spare) return;
  state_ = State::handshake;
  if (awaits_client()) return tell_free();
  // A running process does not prove that it reads: its first answer ends the start.
  PendingCall entry;
  entry.own = true;
  entry.own_initialize = !is_modern();
  entry.own_discover = is_modern();
  const int64_t id = calls_.add(std::move(entry));
  write(is_modern() ? mcp::discover_request(id) : mcp::initialize_request(id, plan_.initialize_params));
}

// The answer to Lineward's own `initialize`.
void StdioInstance::initialized(const mcp::Message& answer) {
  if (answer.kind() == mcp::MessageKind::error) {
    ProcessEnd end{
        EndReason::upstream_protocol, "refused initialize: " + answer.text(Field::error_message), {}};
    end.knows_no_initialize = mcp::error_code(answer) == mcp::kMethodNotFound;
    return stop(end);
  }
  if (!mcp::is_initialize_result(answer))
    return stop({EndReason::upstream_protocol, "answered initialize without a protocolVersion", {}});
  initialize_result_.keep(std::string(answer.raw(Field::result)));
  revision_ = answer.text(Field::result_protocol_version);
  legacy_server_ = mcp::read_initialize_result(initialize_result_.text());
  legacy_server_bytes_.set(mcp::bytes_of(legacy_server_));
  write(std::string(mcp::kInitialized));
  plan_.settles ? settle_first() : become_ready();
}

// Messages that the server sends before it answers a ping belong to no later call.
void StdioInstance::settle_first() {
  auto settled = [this] {
    ping_timer_.stop();
    if (state_ == State::handshake) become_ready();
  };
  ping_timer_.start(kPingPatience, settled);
  send_own("ping", "{}", [settled](const mcp::Message&) { settled(); });
}

void StdioInstance::become_ready() {
  note_ready();
  plan_.initialize_params = {};  // the group keeps them for the next process
  owner_->on_instance_ready(*this);
}

// Once per process.
void StdioInstance::note_ready() {
  state_ = State::ready;
  record_.was_ready = true;
  ++stats_.starts_ok;
  stats_.start_duration.observe(loop_.now() - record_.started_at);
  start_timer_.stop();
}

// ---- calls ----

bool StdioInstance::takes(const StdioCall& call) const {
  if (expiry_.retires || process_.backlog() > kPipeBacklog) return false;
  return is_ready() || (call.request.method == Method::initialize && awaits_client());
}

bool StdioInstance::acquire_turn() {
  if (!plan_.takes_turns || !answers_pings_ || !calls_.attribution.is_unsettled()) return true;
  if (pinging_ || !is_ready()) return false;
  pinging_ = true;
  ping_timer_.start(kPingPatience, [this] {
    answers_pings_ = pinging_ = false;
    tell_free();
  });
  send_own("ping", "{}", [this](const mcp::Message&) {
    if (!std::exchange(pinging_, false)) return;
    calls_.attribution.settled();
    ping_timer_.stop();
  });
  return false;
}

void StdioInstance::send(StdioCall& call) {
  PendingCall entry;
  entry.call = &call;
  if (call.is_listen()) entry.listen = PendingCall::Listen::asked;
  entry.counts = !call.is_listen();
  entry.asks = mcp::may_ask(call.request.method);
  entry.of_gateway = call.request.of_gateway;
  const int64_t id = calls_.add(std::move(entry));
  call.instance = this;
  call.sent_at = loop_.now();
  call.instance_era = plan_.era;
  call.id = id;
  record_.last_used = loop_.now();
  // A listen moves from one process to the next: if it counted, moving the listens alone would use up each
  // new process.
  if (call.request.from && !call.is_listen()) ++sent_;
  if (call.request.method == Method::logging_set_level) {
    level_.is_set(call.request.message);
  } else if (!is_modern()) {
    level_.want(call.request, *this);
  }
  write(call.crosses_eras() ? mcp::modern_request_for_legacy(call.request.message, id)
                            : mcp::request_for_upstream(call.request.message, id));
  // Until a process has answered its handshake, its own or a client's, it is starting.
  bool starts = state_ == State::handshake;
  call.phase(starts ? core::CallPhase::starting : core::CallPhase::written);
  const uint64_t most = server_.pool.max_requests;
  if (most > 0 && sent_ >= most) owner_->on_instance_expired(*this, "reached pool.maxRequests");
}

void StdioInstance::write(std::string message) {
  json::flatten_lines(message);
  process_.write_line(std::move(message));
}

bool StdioInstance::write_small(std::string message) {
  // The cancel goes first: otherwise the server gets the refusal of its request before it knows that the call
  // is over.
  if (!cancels_.empty()) write_cancels();
  if (process_.backlog() + message.size() > kMaxOwed) return false;
  write(std::move(message));
  return true;
}

void StdioInstance::answer_server(std::string message) {
  if (write_small(std::move(message))) return;
  stop({EndReason::upstream_protocol, "asks on and on and does not read the answers", {}});
}

// ---- Lineward's own requests ----

void StdioInstance::send_own(std::string_view method, std::string_view params, OwnAnswer answered) {
  PendingCall entry;
  entry.own = true;
  entry.own_answer = std::move(answered);
  entry.due = loop_.now() + own_limit(server_, method);
  const milliseconds due = entry.due;
  const int64_t id = calls_.add(std::move(entry));
  ring(own_, due, [this] { cancel_late_own(); });
  write(
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{},"params":{}}})", id, json::quote(method), params));
}

// Late requests are cancelled like a client's; their ids are remembered for a late answer.
void StdioInstance::cancel_late_own() {
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
  if (next.count() > 0) ring(own_, next, [this] { cancel_late_own(); });
  for (int64_t id : late) {
    PendingCall* entry = calls_.find(id);
    if (entry == nullptr) continue;
    entry->due = milliseconds(0);
    auto answered = std::exchange(entry->own_answer, nullptr);
    log::write(log::Level::info, "upstream.own_request_late",
               {{"upstream", server_.name}, {"upstream_id", id}});
    if (server_.cancel != config::CancelMode::never)
      write(mcp::cancel_notification(id, "it took too long", plan_.era));
    remember(id);
    if (answered) answered(no_own_answer());
  }
  if (!late.empty()) tell_free();
}

// ---- cancels ----

void StdioInstance::cancel(StdioCall& call, std::string_view why) {
  record_.last_used = loop_.now();
  PendingCall* entry = calls_.find(call.id);
  if (entry == nullptr) return;
  entry->call = nullptr;
  entry->caller = std::make_unique<KeptCallerId>();
  entry->caller->keep(CallerId(call.request));
  // Its place in flight is free; only the id is remembered, to drop a late answer.
  calls_.free_place(*entry);
  entry->cancelled = true;
  entry->cancelled_at = loop_.now();
  entry->tag = call.request.tag;
  if (call.request.method != Method::initialize && server_.cancel != config::CancelMode::never) {
    cancels_.push_back({call.id, std::string(why.substr(0, kMaxReason)), call.open_questions.refuse()});
    write_later_.schedule();
  } else {
    refuse(call.open_questions.refuse());
  }
  remember(call.id);
}

// A finished call is not cancelled: an answer that arrived in the same turn has been read by now.
void StdioInstance::write_cancels() {
  std::vector<Cancel> cancels;
  cancels.swap(cancels_);
  for (Cancel& cancel : cancels) {
    if (PendingCall* entry = calls_.find(cancel.id)) {
      write(mcp::cancel_notification(cancel.id, cancel.why, plan_.era));
      entry->told = metrics::CancelTold::notification;
      log::write(log::Level::debug, "call.cancel",
                 {{"upstream", server_.name}, {"upstream_id", cancel.id}, {"why", cancel.why}});
    }
    refuse(std::move(cancel.refusals));
  }
}

void StdioInstance::refuse(std::vector<std::string> refusals) {
  for (std::string& refusal : refusals)
    write_small(std::move(refusal));
}

void StdioInstance::remember(int64_t id) {
  const milliseconds due = loop_.now() + server_.timeouts.cancel_grace;
  remembered_.emplace(due, Remembered{id, process_.taken(), 0});
  ring(forget_, due, [this] { forget_ignored(); });
}

void StdioInstance::forget_ignored() {
  const milliseconds again =
      loop_.now() + std::max<milliseconds>(server_.timeouts.cancel_grace, milliseconds(1));
  while (!remembered_.empty() && remembered_.begin()->first <= loop_.now()) {
    Remembered one = remembered_.begin()->second;
    remembered_.erase(remembered_.begin());
    PendingCall* entry = calls_.find(one.id);
    if (entry == nullptr) continue;  // it was answered after all
    if (still_reads(one)) {
      remembered_.emplace(again, one);
      continue;
    }
    log::write(log::Level::debug, "call.cancel_ignored",
               {{"upstream", server_.name}, {"upstream_id", entry->id}});
    settle(*entry, metrics::CancelOutcome::ignored);
    entry->cancelled = false;
    // Clients' calls must not end for one of Lineward's own requests, nor for a listen, which leaves no work
    // running.
    if (server_.cancel == config::CancelMode::kill && !entry->own && !entry->is_listen()) {
      ProcessEnd why{EndReason::upstream_exited, "was ended because it ignored a cancellation", {}};
      why.counts = false;
      return stop(why);
    }
    calls_.forget(*entry);
  }
  if (!remembered_.empty()) ring(forget_, remembered_.begin()->first, [this] { forget_ignored(); });
  tell_free();
}

bool StdioInstance::still_reads(Remembered& one) const {
  if (process_.backlog() == 0 || ++one.looks > kMostLooks) return false;
  const uint64_t taken = process_.taken();
  return std::exchange(one.taken, taken) < taken;
}

// An error, an error result and the result of a listen mean that the server stopped the work.
void StdioInstance::late_answer(const PendingCall& entry, const mcp::Message& message) {
  const bool stopped = entry.is_listen() || message.kind() == mcp::MessageKind::error ||
                       message.raw(Field::result_is_error) == "true";
  ++stats_.late_responses;
  settle(entry, stopped ? metrics::CancelOutcome::stopped : metrics::CancelOutcome::raced);
  log::write(log::Level::debug, "upstream.late_response", {{"upstream", server_.name}});
}

void StdioInstance::settle(const PendingCall& entry, metrics::CancelOutcome outcome) {
  if (!entry.cancelled) return;
  stats_.cancel_settled(entry.tag, {outcome, entry.told, loop_.now() - entry.cancelled_at});
}

// ---- messages ----

void StdioInstance::on_process_line(json::Text line) {
  read(std::move(line));
  process_.count_useless(std::exchange(useless_, 0));
}

void StdioInstance::read(json::Text line) {
  if (line.bytes.find_first_not_of(" \t") == std::string::npos) return note_useless();
  auto message = mcp::Message::parse(std::move(line));
  if (!message) return broken_line(message.error());
  record_.last_used = loop_.now();
  switch (message->kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return response(std::move(*message));
    case mcp::MessageKind::request: return request(std::move(*message));
    case mcp::MessageKind::notification: return notification(std::move(*message));
  }
}

void StdioInstance::note_answered(HealthSignal what) {
  if (!std::exchange(record_.has_answered, true)) owner_->on_instance_answered(what);
}

void StdioInstance::drop(std::string_view kind, std::string_view id) {
  if (kind == "unknown_id") stats_.message_error(metrics::MessageError::unknown_id);
  log::write(log::Level::info, "upstream.dropped",
             {{"upstream", server_.name}, {"kind", kind}, {"id", log::short_id(id)}});
  note_useless();
}

// Handles a line that is not a message. Banners are skipped; a broken answer must fail its call.
void StdioInstance::broken_line(const mcp::MessageFault& fault) {
  const std::string& line = fault.bytes;
  if (server_.stdout_mode == config::StdoutMode::strict)
    return stop({EndReason::upstream_protocol, "wrote a line that is no message (stdout: strict)", {}});
  std::string why = fault.text;
  if (fault.kind == mcp::MessageFault::Kind::batch) {
    auto elements = mcp::batch_elements(line);
    const bool too_many = elements.size() > mcp::kMaxInBatch;
    for (auto& element : elements) {
      if (!too_many && state_ != State::down) read(json::Text{std::move(element), nullptr});
    }
    if (!elements.empty() && !too_many) return;
    if (too_many) why = mcp::too_many_in_batch();
  }
  stats_.message_error(fault);
  if (fault.names_method()) {  // it is not an answer
    drop("malformed");
    if (!fault.raw_id.empty())
      answer_server(mcp::error_message(fault.raw_id, mcp::kInvalidRequest, fault.text));
    return;
  }
  mcp::RecoveredIds found = mcp::recover_ids(line);
  std::vector<int64_t> meant;
  for (const auto& raw_id : found.raw_ids) {
    if (PendingCall* entry = calls_.named(raw_id)) meant.push_back(entry->id);
  }
  if (found.raw_ids.empty() && found.looks_like_message) {
    if (const TransportCall* only = calls_.possible().only()) meant.push_back(only->id);
  }
  if (meant.empty()) return drop("not_json");
  for (int64_t id : meant) {
    if (PendingCall* entry = calls_.find(id)) broken_answer(calls_.take(*entry), why);
  }
  if (state_ != State::down) tell_free();
}

void StdioInstance::response(mcp::Message&& message) {
  PendingCall* pending = message.has(Field::id) ? calls_.named(message.raw(Field::id)) : nullptr;
  if (pending == nullptr) {
    const bool names_nothing = !message.has(Field::id) || message.raw(Field::id) == "null";
    if (names_nothing && server_.stdout_mode == config::StdoutMode::strict)
      return stop({EndReason::upstream_protocol, "sent an error that names no request (stdout: strict)", {}});
    return drop("unknown_id", message.raw(Field::id));
  }
  const PendingCall entry = calls_.take(*pending);
  const bool of_client = entry.call != nullptr && entry.call->request.method != Method::initialize;
  note_answered(of_client ? HealthSignal::work : HealthSignal::handshake);
  calls_.note_over(entry);
  record_.has_served = record_.has_served || entry.asks;
  if (entry.own_initialize) return initialized(message);
  if (entry.own_discover) {  // any answer proves that it runs
    if (owner_->is_wanted(message)) become_ready();
    return;
  }
  if (entry.call != nullptr) {
    pass_answer(*entry.call, std::move(message));
  } else if (entry.own_answer) {
    entry.own_answer(message);
  } else if (entry.due.count() == 0) {  // otherwise one of Lineward's own, with no callback
    late_answer(entry, message);
    if (auto params = mcp::cancel_of_task(message); !params.empty() && !is_modern())
      send_own("tasks/cancel", params);
  }
  tell_free();
}

void StdioInstance::pass_answer(StdioCall& call, mcp::Message&& message) {
  call.instance = nullptr;
  refuse(call.open_questions.refuse());
  if (state_ == State::handshake && call.request.method == Method::initialize) {
    if (message.kind() == mcp::MessageKind::result) {
      revision_ = message.text(Field::result_protocol_version);
      note_ready();
    }
    owner_->on_instance_initialized(message);
    call.phase(core::CallPhase::written);  // its start is over
  }
  if (call.crosses_eras()) {
    auto modern =
        mcp::Message::parse(mcp::legacy_answer_for_modern(message, call.request.method, legacy_server()));
    if (modern) message = std::move(*modern);
  }
  call.answer(std::move(message));
}

// The entry is over: its answer is unusable.
void StdioInstance::broken_answer(const PendingCall& entry, const std::string& why) {
  settle(entry, metrics::CancelOutcome::raced);
  calls_.note_over(entry);
  if (entry.own_initialize)
    return stop({EndReason::upstream_protocol, "answered initialize with a broken message", {}});
  if (entry.own_discover) return become_ready();
  if (entry.call == nullptr) return;
  entry.call->instance = nullptr;
  entry.call->fail(
      {EndReason::upstream_protocol, fmt::format("{} sent a broken answer: {}", server_.name, why)});
}

void StdioInstance::request(mcp::Message message) {
  if (message.method() == "ping") {
    note_useless();
    return answer_server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", message.raw(Field::id)));
  }
  if (is_modern()) {
    // 2026-07-28 stdio forbids requests of servers; an error keeps the server from waiting for ever.
    drop("server_request");
    return answer_server(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                            "servers of this revision do not send requests"));
  }
  owner_->on_instance_message(*this, std::move(message));
}

void StdioInstance::notification(mcp::Message message) {
  Method method = mcp::method_of(message.method());
  if (method == Method::progress) {
    PendingCall* entry = calls_.named(message.raw(Field::params_progress_token));
    if (entry != nullptr && !entry->is_listen() && deliver(entry, message)) return;
    // In a session it may belong to a task: the task's call was answered long ago.
    if (is_modern() || message.raw(Field::params_progress_token).empty())
      return drop("unknown_token", message.raw(Field::params_progress_token));
    return owner_->on_instance_message(*this, std::move(message));
  }
  if (is_modern() && !message.has(Field::meta_subscription_id) && is_of_listens(message))
    return of_listens(message);
  if (method == Method::cancelled && is_modern()) return end_listen(std::move(message));
  if (message.has(Field::meta_subscription_id)) {
    auto id = own_id(message.raw(Field::meta_subscription_id));
    PendingCall* entry = id ? calls_.find(*id) : nullptr;
    if (entry == nullptr || !entry->is_listen() || !deliver(entry, message)) drop("unknown_subscription");
    return;
  }
  if (is_modern()) {
    TransportCall* call = Attribution::of_modern(message, calls_.possible());
    return call != nullptr ? call->message(std::move(message)) : drop("unscoped");
  }
  owner_->on_instance_message(*this, std::move(message));
}

// The notification names no listen: it goes to all that were granted it. An acknowledgement can only be that
// of the single listen that waits for one.
void StdioInstance::of_listens(const mcp::Message& message) {
  bool acknowledges = mcp::method_of(message.method()) == Method::subscriptions_acknowledged;
  std::vector<int64_t> to;
  const auto wanted = acknowledges ? PendingCall::Listen::asked : PendingCall::Listen::stands;
  for (const auto& [id, entry] : calls_.all()) {
    if (entry.listen == wanted && entry.call != nullptr) to.push_back(id);
  }
  if (to.empty() || (acknowledges && to.size() > 1)) return drop("unscoped");
  note_answered(HealthSignal::work);
  for (int64_t id : to) {
    PendingCall* entry = calls_.find(id);  // a client may disconnect during each delivery
    if (entry == nullptr || entry->call == nullptr) continue;
    entry->listen = PendingCall::Listen::stands;
    entry->call->message(message);
  }
}

// The server ended a listen; it may name it in either form. No cancel is sent.
void StdioInstance::end_listen(mcp::Message message) {
  auto id = own_id(message.raw(Field::params_request_id));
  PendingCall* entry = id ? calls_.find(*id) : nullptr;
  if (entry == nullptr || !entry->is_listen())
    return drop("unknown_id", message.raw(Field::params_request_id));
  StdioCall* call = entry->call;
  calls_.forget(*entry);
  if (call == nullptr) return;
  call->instance = nullptr;
  call->answer(std::move(message));
}

bool StdioInstance::deliver(PendingCall* entry, mcp::Message& message) {
  if (entry == nullptr || entry->call == nullptr) return false;
  if (entry->is_listen()) note_answered(HealthSignal::work);
  const bool acknowledges = mcp::method_of(message.method()) == Method::subscriptions_acknowledged;
  if (acknowledges && entry->is_listen()) entry->listen = PendingCall::Listen::stands;
  entry->call->message(std::move(message));
  return true;
}

// ---- the end ----

void StdioInstance::stop(const ProcessEnd& why) {
  if (state_ != State::down) write_cancels();
  process_.stop(why);
}

void StdioInstance::on_process_down(const ProcessEnd& end) {
  state_ = State::down;
  for (net::Timer* timer :
       {&start_timer_, &adopted_timer_, &lifetime_timer_, &ping_timer_, &own_.timer, &forget_.timer})
    timer->stop();
  pinging_ = false;
  remembered_.clear();
  cancels_.clear();
  write_later_.cancel();
  InstanceCalls::Table lost = calls_.take_all();
  std::vector<StdioCall*> listens;
  std::string failure_text = record_.has_answered ? end.text : start_failure_text(end, server_);
  if (!record_.was_ready && end.reason != EndReason::cancelled_drain) ++stats_.starts_failed;
  for (auto& [id, entry] : lost) {
    entry.told = entry.told == metrics::CancelTold::nothing ? metrics::CancelTold::process_ended : entry.told;
    settle(entry, metrics::CancelOutcome::stopped);
    if (entry.call == nullptr) continue;
    entry.call->instance = nullptr;
    if (entry.is_listen()) {
      listens.push_back(entry.call);
    } else {
      entry.call->fail({end.reason, fmt::format("{} {}", server_.name, failure_text)});
    }
  }
  owner_->on_instance_down(*this, end, std::move(listens));
}

void StdioInstance::on_process_gone() {
  ++stats_.exits[static_cast<size_t>(process_.exit_cause())];
  if (!is_modern() && record_.was_ready)
    stats_.client_sessions[metrics::revision_slot(revision_)].observe(loop_.now() - record_.started_at);
  owner_->on_instance_gone(*this);
}

}  // namespace lineward::upstream

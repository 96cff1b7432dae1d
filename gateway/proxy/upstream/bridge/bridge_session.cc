#include "proxy/upstream/bridge/bridge_session.h"

#include "proxy/upstream/bridge/modern_bridge.h"

#include <fmt/format.h>

#include "foundation/base/random_id.h"
#include "foundation/json/json_member.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/legacy_server.h"
#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

// The limit on messages of servers before their client is initialized.
constexpr size_t kMaxEarly = 64;
constexpr std::string_view kWithTasks = mcp::kNewestLegacy;  // the only revision with these tasks
constexpr std::string_view kEmptyResult = R"({"jsonrpc":"2.0","id":0,"result":{}})";

}  // namespace

BridgeSession::BridgeSession(ModernBridge& bridge, core::Scope scope, core::ScopeCallbacks& owner,
                             bool half_open_probe)
    : bridge_(bridge),
      scope_(std::move(scope)),
      owner_(&owner),
      probing_(half_open_probe),
      listen_(
          bridge.loop(), bridge.inner(), bridge.server(), modern_scope(),
          [this](const std::string& filter) { return mcp::listen_for_client(client_, filter); },
          [this](mcp::Message message) { to_client(std::move(message), std::nullopt); }) {
  if (is_bridged()) bridge.inner().open_scope(modern_scope(), *this);
}

net::Loop& BridgeSession::loop() {
  return bridge_.loop();
}

core::Upstream& BridgeSession::inner() {
  return bridge_.inner();
}

void BridgeSession::learned_modern_only(bool for_good) {
  bridge_.learned_modern_only(for_good);
}

BridgeSession::~BridgeSession() = default;

void BridgeSession::close(const core::Failure& why) {
  owner_ = nullptr;
  listen_.stop(why.text);
  auto calls = calls_;
  for (const auto& entry : calls) {
    if (BridgeCall* call = find(entry.first)) call->fail(why);
  }
  if (is_bridged()) inner().close_scope(modern_scope());
}

BridgeCall* BridgeSession::find(uint64_t serial) const {
  auto found = calls_.find(serial);
  return found == calls_.end() ? nullptr : found->second;
}

// ---- calls ----

Result<std::unique_ptr<core::Call>, core::Failure> BridgeSession::start(core::UpstreamRequest&& request,
                                                                        core::CallCallbacks& owner) {
  if (shares_) return start_as_it_is(std::move(request), owner);
  bool handshake = request.method == Method::initialize;
  if (probing_ && !handshake) return inner().start(std::move(request), owner);
  if (!handshake && request.method != Method::ping && !server_) {
    return Unexpected<core::Failure>{
        {EndReason::upstream_protocol,
         fmt::format("this session was never initialised by {}", inner().name())}};
  }
  if (!handshake && request.method != Method::ping) client_is_there();
  auto call = std::make_unique<BridgeCall>(*this, std::move(request), owner);
  std::optional<core::Failure> failure;
  if (handshake) {
    listen_.use_request(call->request());
    client_ = mcp::read_initialize_params(call->request().message, call->request().wire());
    client_bytes_.charge(call->request().account());
    client_bytes_.set(mcp::bytes_of(client_));
    failure = probing_ ? call->start_as_it_came() : call->start_discover();
  } else if (!handled_here(*call)) {
    failure = call->start_translated();
  }
  if (failure) {
    call->cancel("it could not be sent");
    return Unexpected<core::Failure>{std::move(*failure)};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

// Starts a call on a shared process. A log level is forwarded, since the server needs the lowest level of all
// sessions (proxy/upstream/shared/legacy_facade.h). Subscriptions are answered here, once the listen is
// acknowledged.
Result<std::unique_ptr<core::Call>, core::Failure> BridgeSession::start_as_it_is(
    core::UpstreamRequest&& request, core::CallCallbacks& owner) {
  listen_.use_request(request);
  const bool subscribes = request.method == Method::resources_subscribe;
  if (subscribes || request.method == Method::resources_unsubscribe) {
    auto call = std::make_unique<BridgeCall>(*this, std::move(request), owner);
    subscription(*call, subscribes);
    return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
  }
  if (request.method == Method::logging_set_level) keep_level(request.message.text(Field::params_level));
  request.log_wish = {client_.log_level, client_.set_level};
  return inner().start(std::move(request), owner);
}

// Requests of legacy clients that a modern server does not know.
bool BridgeSession::handled_here(BridgeCall& call) {
  switch (call.request().method) {
    case Method::ping: finish_later(call, std::string(kEmptyResult)); return true;
    case Method::logging_set_level: set_level(call); return true;
    case Method::resources_subscribe: subscription(call, true); return true;
    case Method::resources_unsubscribe: subscription(call, false); return true;
    case Method::server_discover:
    case Method::subscriptions_listen:
    case Method::tasks_update:
      refuse_later(call, mcp::kMethodNotFound, "Method not found: not part of " + client_.revision);
      return true;
    case Method::tasks_get:
    case Method::tasks_cancel:
    case Method::tasks_list:
    case Method::tasks_result:
      refuse_later(call, mcp::kMethodNotFound,
                   client_.revision == kWithTasks
                       ? "Method not found: the tasks of " + client_.revision + " are not offered here"
                       : "Method not found: not part of " + client_.revision);
      return true;
    default: return false;
  }
}

void BridgeSession::finish_later(BridgeCall& call, std::string text) {
  call.start_local();
  loop().defer(lifetime_, [this, serial = call.serial(), text = std::move(text)] {
    BridgeCall* one = find(serial);
    if (one != nullptr) one->finish(text);
  });
}

void BridgeSession::refuse_later(BridgeCall& call, int code, std::string_view text) {
  finish_later(call, mcp::error_message("0", code, text));
}

void BridgeSession::set_level(BridgeCall& call) {
  if (!server_->logging) return refuse_later(call, mcp::kMethodNotFound, "this server does not log");
  if (!keep_level(call.request().message.text(Field::params_level)))
    return refuse_later(call, mcp::kInvalidParams, "params.level is no logging level");
  finish_later(call, std::string(kEmptyResult));
}

bool BridgeSession::keep_level(std::string level) {
  if (!mcp::log_level(level)) return false;
  client_.log_level = std::move(level);
  client_.set_level = true;
  return true;
}

// A given-up listen is tried again after the request, not before. On a half-open circuit the listen would
// take the single try, and the client's request would be refused.
void BridgeSession::sent_or_answered() {
  listen_.asked();
}

// The headers of the session's listen: a request that the server has not answered yet may be another
// caller's, or carry an expired token.
void BridgeSession::taken_by_server(const core::UpstreamRequest& request) {
  listen_.use_request(request);
}

void BridgeSession::subscription(BridgeCall& call, bool wanted) {
  const mcp::Message& message = call.request().message;
  if (!message.is_string(Field::params_uri))
    return refuse_later(call, mcp::kInvalidParams, "params.uri must be a string");
  std::string uri = message.text(Field::params_uri);
  auto settled = [this, serial = call.serial()](const std::optional<core::Failure>& refusal) {
    BridgeCall* one = find(serial);
    if (one == nullptr) return;
    if (!refusal) return one->finish(std::string(kEmptyResult));
    const bool as_it_is = mcp::is_refusal_of_client(refusal->reason) || mcp::is_lack_of_room(refusal->reason);
    if (as_it_is) return one->fail(*refusal);
    // The subscription was requested, whatever the server declares.
    const int code = server_->resources_subscribe ? mcp::kInvalidParams : mcp::kMethodNotFound;
    one->finish(mcp::error_message("0", code, refusal->text));
  };
  auto moved = [this, serial = call.serial()](core::CallPhase phase) {
    if (BridgeCall* one = find(serial)) one->moved(phase);
  };
  BridgeListen::Asker asker{call.serial(), std::move(moved), std::move(settled)};
  wanted ? listen_.subscribe(call.request(), uri, std::move(asker))
         : listen_.unsubscribe(call.request(), uri, std::move(asker));
}

void BridgeSession::left(BridgeCall& call) {
  calls_.erase(call.serial());
  listen_.withdraw(call.serial());
  std::erase_if(questions_, [&](const auto& entry) { return entry.second == &call; });
}

// ---- the handshake ----

// The server's own session is over: it has none.
void BridgeSession::begin_bridging() {
  if (!std::exchange(probing_, false)) return;
  inner().close_scope(scope_);
  inner().open_scope(modern_scope(), *this);
}

// On a shared process only the changes that the server notifies matter.
void BridgeSession::serves_itself(const mcp::Message& answer, bool has_session) {
  if (!has_session || config::is_of_one_session(bridge_.server().isolation))
    return bridge_.serves_itself(scope_.session);
  probing_ = false;
  shares_ = true;
  server_.emplace();
  mcp::read_capability_flags(json::member(answer.raw(Field::result), "capabilities").value_or("{}"),
                             *server_);
  listen_.go_with(scope_);
}

std::optional<std::string> BridgeSession::discovered(const mcp::Message& answer) {
  server_ = mcp::read_discover_result(answer);
  server_bytes_.set(server_ ? mcp::bytes_of(*server_) : 0);
  if (!server_) return std::nullopt;
  return mcp::initialize_answer(*server_, client_);
}

std::optional<json::Text> BridgeSession::project(const core::UpstreamRequest& request,
                                                 const mcp::Message& answer) {
  std::string tool;
  if (request.method == Method::tools_call) tool = request.message.text(Field::params_name);
  return mcp::modern_answer_for_legacy(answer, request.method, tool, wrapped_);
}

// ---- questions, notifications ----

int64_t BridgeSession::new_question(BridgeCall& call) {
  questions_[next_question_] = &call;
  return next_question_++;
}

std::string BridgeSession::new_elicitation_id(const mcp::InputRequest& request) {
  return mcp::is_url_elicitation(request) ? random_id() : std::string();
}

void BridgeSession::to_client(mcp::Message message, std::optional<uint64_t> tag) {
  if (owner_ != nullptr) owner_->on_scope_message(std::move(message), tag);
}

// A log message outside of a call is filtered by the session's level.
void BridgeSession::on_scope_message(mcp::Message message, std::optional<uint64_t> only_call) {
  const bool asks = message.kind() == mcp::MessageKind::request;
  const auto needed = asks ? mcp::capability_for(message) : std::nullopt;
  if (needed && !json::member(client_.capabilities, needed->name))
    return refuse_question(message, needed->name);
  if (mcp::method_of(message.method()) == Method::message) {
    const auto level = mcp::log_level(message.text(Field::params_level));
    if (level && *level < mcp::log_level(client_.log_level).value_or(*level)) return;
  }
  if (is_initialized_) return to_client(std::move(message), only_call);
  // Lineward has initialized that server, which may send messages before this client may receive them.
  if (early_.size() < kMaxEarly) {
    early_bytes_.add(message.bytes().size());
    early_.push_back({std::move(message), only_call});
  } else if (asks) {
    auto refusal = mcp::Message::parse(mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound,
                                                          "too much waits for this client's initialized"));
    if (refusal) forward(*refusal);
  }
}

void BridgeSession::client_is_there() {
  if (std::exchange(is_initialized_, true)) return;
  std::vector<Early> early;
  early.swap(early_);
  early_bytes_.set(0);
  for (Early& one : early)
    to_client(std::move(one.message), one.only_call);
}

void BridgeSession::refuse_question(const mcp::Message& question, const std::string& capability) {
  auto refusal = mcp::Message::parse(
      mcp::error_message(question.raw(Field::id), mcp::kMethodNotFound,
                         "the server asks for what this client did not declare: " + capability));
  if (refusal) forward(*refusal);
}

void BridgeSession::withdraw(int64_t question, std::string_view why, uint64_t tag) {
  if (questions_.erase(question) == 0) return;
  auto message = mcp::Message::parse(fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}}}}})",
      question, json::quote(why)));
  if (message) to_client(std::move(*message), tag);
}

// A process for a single call notifies no other session of list changes: a listen would occupy a process for
// each session, and receive nothing.
void BridgeSession::want_lists() {
  if (shares_ && bridge_.server().isolation == config::Isolation::call) return;
  listen_.want({server_->tools_list_changed, server_->prompts_list_changed, server_->resources_list_changed});
}

void BridgeSession::forward(const mcp::Message& message, const core::HeaderFields& headers,
                            const core::ClientRequestPtr& by) {
  if (shares_ && mcp::method_of(message.method()) == Method::initialized) want_lists();
  if (!is_bridged()) return inner().send(scope_, mcp::Era::legacy, message, headers);
  if (message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error) {
    auto id = message.has(Field::id) ? own_id(message.raw(Field::id)) : std::nullopt;
    if (!id) return inner().send(modern_scope(), mcp::Era::legacy, message, {});
    auto found = questions_.find(*id);
    if (found == questions_.end()) return;
    BridgeCall* call = found->second;
    questions_.erase(found);
    return call->answered(*id, message);
  }
  core::Scope scope = modern_scope();
  scope.by = by;
  switch (mcp::method_of(message.method())) {
    case Method::initialized:
      if (server_) want_lists();
      return client_is_there();
    // A modern server's next question queries the roots again; legacy ones behind an aggregate are notified.
    case Method::roots_list_changed: return inner().send(scope, mcp::Era::legacy, message, headers);
    case Method::progress: return;  // of a client's answer: it has no modern form
    default: break;
  }
  auto modern = mcp::Message::parse(mcp::legacy_message_for_modern(message, client_));
  if (!modern || !server_) return;
  inner().send(scope, mcp::Era::modern, *modern, headers);
}

}  // namespace lineward::upstream

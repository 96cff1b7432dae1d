#include "proxy/upstream/shared/attribution.h"

#include "proxy/core/gate.h"
#include "proxy/upstream/shared/legacy_facade.h"

namespace lineward::upstream {

using mcp::Method;

namespace {

std::string_view session_of(const core::UpstreamRequest& request) {
  if (!request.scope.session.empty()) return request.scope.session;
  if (!request.scope.bridged_session.empty()) return request.scope.bridged_session;
  return request.from != nullptr ? std::string_view(request.from->session) : std::string_view();
}

}  // namespace

CallerId::CallerId(const core::UpstreamRequest& request) {
  const core::ClientRequest* from = request.from.get();
  const core::Scope& scope = request.scope;
  if (from != nullptr && from->on_stdio()) {
    kind_ = Kind::client_on_stdin;
  } else if (!scope.principal.empty() && !core::is_anonymous(scope.principal)) {
    kind_ = Kind::principal;
    name_ = scope.principal;
  } else if (!session_of(request).empty()) {
    kind_ = Kind::session;
    name_ = session_of(request);
  } else if (from != nullptr && from->own_connection) {
    kind_ = Kind::connection;
    name_ = from->peer;
  }
}

void PossibleCalls::add(const PossibleCall& possible) {
  TransportCall* call = possible.call;
  several_callers_ = several_callers_ || (count_ > 0 && !caller_.is_same(possible.caller));
  caller_ = possible.caller;
  only_ = count_++ == 0 ? call : nullptr;
  any_asks_ = any_asks_ || possible.asks;
  if (possible.asks || !possible.of_gateway) asking_ = of_clients_++ == 0 && possible.asks ? call : nullptr;
  if (call == nullptr) return;
  if (!possible.of_gateway) newest_ = call;
  if (message_ == nullptr || !call->asked_what_is_named(*message_)) return;
  several_named_ = several_named_ || named_ != nullptr;
  named_ = several_named_ ? nullptr : call;
}

Addressee Attribution::of(const mcp::Message& message, const MessageOrigin& from,
                          const PossibleCalls& calls) const {
  using Kind = Addressee::Kind;
  const Method method = mcp::method_of(message.method());
  const bool asks = message.kind() == mcp::MessageKind::request;
  if (asks && !from.scoped && !from.bridged) return of_question(method, from, calls);
  TransportCall* call = of_notice(method, asks, from, calls);
  if (from.scoped && !from.bridged) return {Kind::session, call};
  if (!from.bridged && calls.named_ != nullptr) return {Kind::call, calls.named_};
  if (method == Method::message && call != nullptr)
    return {LegacyFacade::wants_log_line(call->request, message) ? Kind::call : Kind::unwanted, call};
  if (from.scoped && method != Method::progress) return {Kind::session, call};
  return {asks ? Kind::refused : Kind::none};
}

// A log message is for the newest call if all possible ones have the same caller; any other message only for
// the only possible call. An HTTP server's request outside all calls' streams is about none of them.
TransportCall* Attribution::of_notice(Method method, bool asks, const MessageOrigin& from,
                                      const PossibleCalls& calls) const {
  if (from.call != nullptr) return from.call;
  const std::chrono::milliseconds now = loop_.now();
  const bool about_none = asks || (from.scoped && !from.bridged);
  if (method == Method::progress || (!from.pipe && about_none)) return nullptr;
  if (from.pipe && (asks || method != Method::message)) return late_.any(now) ? nullptr : calls.only_;
  return !calls.several_callers_ && late_.none_but(calls.caller_, now) ? calls.newest_ : nullptr;
}

// A server may send requests during any call, and does not name the call. A request beside another client's
// call has no owner, whatever that call is: it must not reach the wrong client. The client of a shared
// process cannot answer roots/list. While a cancelled call may still be running, its late requests have no
// owner.
Addressee Attribution::of_question(Method method, const MessageOrigin& from,
                                   const PossibleCalls& calls) const {
  using Kind = Addressee::Kind;
  const bool roots = method == Method::roots_list;
  const bool elicits = method == Method::elicitation_create || method == Method::sampling_create_message;
  TransportCall* owner = from.call != nullptr ? from.call : asking_call(from.exclusive, calls);
  const bool may_own = owner != nullptr && mcp::may_ask(owner->request.method) &&
                       owner->request.client_era == mcp::Era::modern;
  if (may_own && (elicits || (roots && from.exclusive))) return {Kind::call, owner};
  const bool busy = from.exclusive && (from.apart || calls.any_asks_);
  const bool late = from.exclusive && from.call == nullptr && !busy && asked_lately();
  return {roots && !busy ? Kind::roots : Kind::refused, nullptr, late && (elicits || (from.pipe && !roots))};
}

TransportCall* Attribution::asking_call(bool exclusive, const PossibleCalls& calls) const {
  TransportCall* one = loop_.now() < cancelled_until_ ? nullptr : calls.asking_;
  // The request may be for a call that is over.
  const bool certain = one != nullptr && (exclusive || !asked_lately()) && asked_by_none_but(*one);
  return certain ? one : nullptr;
}

TransportCall* Attribution::of_modern(const mcp::Message& notification, const PossibleCalls& calls) {
  const bool is_line = mcp::method_of(notification.method()) == Method::message;
  TransportCall* call = is_line ? calls.only_ : nullptr;
  return call != nullptr && call->request.message.has(mcp::Field::meta_log_level) ? call : nullptr;
}

void Attribution::note_over(const PossibleCall& call, End end) {
  if (call.of_gateway) return;
  const std::chrono::milliseconds now = loop_.now();
  const std::chrono::milliseconds until = now + server_.timeouts.cancel_grace;
  late_.ended(call.caller, until, now);
  if (call.asks) {
    late_askers_.ended(call.caller, until, now);
    unsettled_ = true;
  } else if (end == End::cancelled) {
    cancelled_until_ = until;
  }
}

}  // namespace lineward::upstream

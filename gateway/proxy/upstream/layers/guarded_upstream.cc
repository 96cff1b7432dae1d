#include "proxy/upstream/layers/guarded_upstream.h"

#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "proxy/audit/audit.h"
#include "proxy/upstream/layers/guarded_call.h"
#include "proxy/upstream/layers/viewed_call.h"

namespace lineward::plugin {

bool GuardedUpstream::is_judged() const {
  auto plugins = plugins_();
  return plugins && plugins->judges_parts(name());
}

Result<std::unique_ptr<core::Call>, core::Failure> GuardedUpstream::start(core::UpstreamRequest&& request,
                                                                          core::CallCallbacks& owner) {
  if (!ViewedCall::concerns(server_, request.method)) return start_guarded(std::move(request), owner);
  auto call = std::make_unique<ViewedCall>(server_, std::move(request), owner);
  auto failure = call->begin([this](core::UpstreamRequest&& inner, core::CallCallbacks& its_owner) {
    return start_guarded(std::move(inner), its_owner);
  });
  if (failure) {
    call->cancel("was not begun");
    return Unexpected<core::Failure>{std::move(*failure)};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

Result<std::unique_ptr<core::Call>, core::Failure> GuardedUpstream::start_guarded(
    core::UpstreamRequest&& request, core::CallCallbacks& owner) {
  auto plugins = request.of_gateway ? nullptr : plugins_();
  if (!plugins || plugins->empty()) return inner_->start(std::move(request), owner);
  auto call = std::make_unique<GuardedCall>(loop_, *inner_, std::move(plugins), std::move(request));
  if (!call->attach()) return inner_->start(call->take_request(), owner);
  call->begin(owner);
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

std::optional<mcp::Message> GuardedUpstream::judged(const core::Scope& scope,
                                                    const mcp::Message& message) const {
  mcp::Message out = message;
  auto plugins = plugins_();
  if (!plugins || plugins->empty()) return out;
  const std::string method = message.method();
  RequestInfo facts;
  facts.upstream = facts.endpoint = name();
  facts.method_name = method;
  facts.method = mcp::method_of(method);
  facts.principal = scope.principal;
  facts.session = scope.session;
  facts.bytes_in = message.bytes().size();
  if (scope.by) {
    facts.endpoint = scope.by->upstream;
    facts.peer = scope.by->peer;
    facts.listener = scope.by->listener;
    facts.caller = scope.by->caller.get();
    facts.session = scope.by->session;
  }
  auto refusal = plugins->judge_out_of_call(facts, out, Direction::to_server, ServerRole::member);
  if (!refusal) return out;
  log::write(log::Level::info, "client.dropped",
             {{"kind", log::Excerpt(method, 100)},
              {"upstream", name()},
              {"reason", mcp::name(refusal->reason)},
              {"why", refusal->text},
              {"remote", facts.peer}});
  audit::record(audit::Kind::refusal,
                {{"who", facts.caller ? std::string_view(facts.caller->name) : core::kAnonymous},
                 {"from", facts.peer},
                 {"server", name()},
                 {"route", facts.endpoint},
                 {"method", method},
                 {"end", mcp::name(refusal->reason)},
                 {"policy", refusal->by},
                 {"why", refusal->text}});
  return std::nullopt;
}

void GuardedUpstream::send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
                           const core::HeaderFields& headers) {
  if (auto passes = judged(scope, message)) inner_->send(scope, client_era, *passes, headers);
}

}  // namespace lineward::plugin

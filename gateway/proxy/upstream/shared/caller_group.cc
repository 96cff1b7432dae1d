#include "proxy/upstream/shared/caller_group.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/mcp/client_capabilities.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {

using config::Isolation;
using mcp::EndReason;
using mcp::Field;

std::string CallerGrouping::key_of_next_call() {
  return fmt::format("call:{}", next_call_++);
}

// `isolation: shared` on a legacy server: one group for both eras. It declares no capabilities, so the server
// cannot send requests to clients.
CallerGroup CallerGrouping::of_all() {
  CallerGroup group;
  group.key = "shared";
  group.era = mcp::Era::legacy;
  group.initialize_params = mcp::bare_initialize_params();
  return group;
}

CallerGroup CallerGrouping::of_legacy(const core::Scope& scope) {
  if (server_.isolation == Isolation::shared) return of_all();
  CallerGroup group;
  group.era = mcp::Era::legacy;
  if (config::is_of_one_session(server_.isolation)) {
    group.key = key_of_session(scope);
    return group;  // initialised by its own client
  }
  group.per_call = server_.isolation == Isolation::call;
  group.key = group.per_call ? key_of_next_call() : "legacy:" + scope.principal;
  group.initialize_params = mcp::bare_initialize_params();
  return group;
}

// The key contains the era: after a new verdict, a group made for the old era must not be used.
Result<CallerGroup, core::Failure> CallerGrouping::of(const core::UpstreamRequest& request, mcp::Era era) {
  if (request.of_session()) return of_legacy(request.scope);
  if (era == mcp::Era::modern) return of_modern(request.scope);
  if (is_bridged(request.scope)) return of_bridged(request);
  return translated(request);
}

std::string CallerGrouping::key_of_modern(const core::Scope& scope) const {
  if (server_.isolation == Isolation::principal) return "modern:" + scope.principal;
  if (server_.isolation == Isolation::session) return "modern:" + scope.principal + "/" + scope.affinity;
  return "modern";
}

std::vector<std::string> CallerGrouping::keys_of_state(const core::Scope& scope) const {
  const bool of_session = !scope.session.empty() || !scope.bridged_session.empty();
  if (server_.isolation != Isolation::session || of_session || scope.affinity.empty()) return {};
  return {key_of_modern(scope), key_of_translated(scope)};
}

// Without the capabilities, which are a part of it only where no state is kept.
std::string CallerGrouping::key_of_translated(const core::Scope& scope) const {
  std::string key = "translated";
  if (!scope.principal.empty()) key += ":" + scope.principal;
  if (server_.isolation == Isolation::session) key += "/" + scope.affinity;
  return key;
}

CallerGroup CallerGrouping::of_modern(const core::Scope& scope) {
  CallerGroup group;
  group.per_call = server_.isolation == Isolation::call;
  group.key = group.per_call ? key_of_next_call() : key_of_modern(scope);
  return group;
}

std::optional<core::Failure> CallerGrouping::too_large(size_t declared) {
  if (declared <= mcp::kMaxCapabilityBytes) return std::nullopt;
  return core::Failure{EndReason::invalid_request,
                       fmt::format("the client declares {} bytes of capabilities, more than {}", declared,
                                   mcp::kMaxCapabilityBytes)};
}

// All its calls are from one client, so none waits for another. A server request that names no call is for
// that client anyway.
Result<CallerGroup, core::Failure> CallerGrouping::of_bridged(const core::UpstreamRequest& request) {
  CallerGroup group;
  group.key = key_of_session(request.scope);
  group.era = mcp::Era::legacy;
  group.bridged = true;
  auto declared =
      mcp::legacy_capabilities(request.message.raw(Field::meta_client_capabilities), mcp::RootsChanges::told);
  if (auto refusal = too_large(declared.object.size())) return Unexpected<core::Failure>{std::move(*refusal)};
  group.initialize_params = mcp::initialize_params(declared.object);
  return group;
}

// A modern client's call on a legacy server.
Result<CallerGroup, core::Failure> CallerGrouping::translated(const core::UpstreamRequest& request) {
  using Refused = Unexpected<core::Failure>;
  // A retry without its parked call: the tool must not run a second time.
  if (mcp::may_ask(request.method) && request.message.has(Field::params_request_state)) {
    return Refused{{EndReason::invalid_request, "the call of this requestState is gone"}};
  }
  if (server_.isolation == Isolation::shared) return of_all();
  CallerGroup group;
  group.era = mcp::Era::legacy;
  auto declared = mcp::legacy_capabilities(request.message.raw(Field::meta_client_capabilities));
  if (auto refusal = too_large(declared.object.size())) return Refused{std::move(*refusal)};
  group.initialize_params = mcp::initialize_params(declared.object);
  group.exclusive = declared.may_be_asked;
  group.per_call = server_.isolation == Isolation::call;
  if (group.per_call) {
    group.key = key_of_next_call();
    return group;
  }
  // Kept state must be in one place, whatever each request declares. The first request decides which
  // capabilities the server gets, and whether calls take turns.
  const bool keeps_state =
      server_.isolation == Isolation::principal || server_.isolation == Isolation::session;
  if (group.exclusive && !keeps_state) group.most = server_.instances;
  group.key = key_of_translated(request.scope);
  if (declared.object != "{}" && !keeps_state) group.key += " " + declared.object;
  return group;
}

}  // namespace lineward::upstream

#include "proxy/upstream/shared/attribution.h"

#include "proxy/core/gate.h"

namespace lineward::upstream {
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
  } else if (!scope.principal.empty() && scope.principal != core::kAnonymous) {
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

}  // namespace lineward::upstream

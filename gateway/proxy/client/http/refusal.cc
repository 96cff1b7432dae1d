#include "proxy/client/http/refusal.h"

#include <utility>

#include "protocol/mcp/errors.h"

namespace lineward::client {
namespace {

HttpRefusal own_error(const mcp::Message& request, const mcp::GatewayError& error) {
  HttpRefusal refusal = rpc_error(200, mcp::row(error.reason).code, error.text);
  refusal.body = mcp::gateway_error(request.raw(mcp::Field::id), error);
  refusal.reason = error.reason;
  refusal.method = request.method();
  return refusal;
}

}  // namespace

HttpRefusal rpc_error(int status, int code, std::string text) {
  HttpRefusal refusal;
  refusal.status = status;
  refusal.code = code;
  refusal.text = std::move(text);
  return refusal;
}

HttpRefusal refused_with(int status, std::string text) {
  return rpc_error(status, status, std::move(text));
}

HttpRefusal forbidden(std::string text) {
  return refused_with(403, std::move(text));
}

HttpRefusal not_found(std::string text) {
  return refused_with(404, std::move(text));
}

HttpRefusal session_not_found() {
  return not_found("Session not found");
}

HttpRefusal not_acceptable(std::string text) {
  return refused_with(406, std::move(text));
}

HttpRefusal too_large(std::string text) {
  return refused_with(413, std::move(text));
}

HttpRefusal unsupported_type(std::string text) {
  return refused_with(415, std::move(text));
}

HttpRefusal unavailable(std::string text) {
  return refused_with(503, std::move(text));
}

HttpRefusal not_allowed(std::string allow, std::string text) {
  HttpRefusal refusal = refused_with(405, std::move(text));
  refusal.allow = std::move(allow);
  return refusal;
}

HttpRefusal bad_request(int code, std::string text) {
  return rpc_error(400, code, std::move(text));
}

HttpRefusal invalid_request(std::string text) {
  return bad_request(mcp::kInvalidRequest, std::move(text));
}

HttpRefusal invalid_params(std::string text) {
  return bad_request(mcp::kInvalidParams, std::move(text));
}

HttpRefusal no_message(const mcp::MessageFault& fault) {
  const bool not_json = fault.kind == mcp::MessageFault::Kind::not_json;
  return bad_request(not_json ? mcp::kParseError : mcp::kInvalidRequest,
                     fault.text + (fault.too_deep ? " (listen.maxDepth)" : ""));
}

HttpRefusal too_many_sessions(const mcp::Message& request, const std::string& server) {
  return own_error(request, {.reason = mcp::EndReason::queue_full,
                             .text = "too many sessions (lineward listen.maxSessions)",
                             .upstream = server});
}

HttpRefusal without_session(const mcp::Message& request, const std::string& server) {
  return own_error(request, {.reason = mcp::EndReason::upstream_unreachable,
                             .text = "no session could be opened for this request",
                             .upstream = server});
}

HttpRefusal denied(core::Denial denial, ToldPolicies told) {
  const int code = denial.status == 200 ? mcp::row(denial.reason).code : denial.status;
  HttpRefusal refusal = rpc_error(denial.status, code, std::move(denial.text));
  refusal.told = told == ToldPolicies::yes;
  refusal.reason = denial.reason;
  refusal.by = std::move(denial.by);
  refusal.headers = std::move(denial.headers);
  mcp::GatewayError error;
  error.reason = refusal.reason;
  error.text = refusal.text;
  refusal.body = mcp::gateway_error({}, error);
  return refusal;
}

}  // namespace lineward::client

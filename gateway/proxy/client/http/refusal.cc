#include "proxy/client/http/refusal.h"

#include <utility>

#include "protocol/mcp/errors.h"

namespace lineward::client {
namespace {

HttpError own_error(const mcp::Message& request, const mcp::GatewayError& error) {
  HttpError refusal = rpc_error(200, mcp::row(error.reason).code, error.text);
  refusal.body = mcp::gateway_error(request.raw(mcp::Field::id), error);
  refusal.reason = error.reason;
  refusal.method = request.method();
  return refusal;
}

}  // namespace

HttpError rpc_error(int status, int code, std::string text) {
  HttpError refusal;
  refusal.status = status;
  refusal.code = code;
  refusal.text = std::move(text);
  return refusal;
}

HttpError refused_with(int status, std::string text) {
  return rpc_error(status, status, std::move(text));
}

HttpError forbidden(std::string text) {
  return refused_with(403, std::move(text));
}

HttpError not_found(std::string text) {
  return refused_with(404, std::move(text));
}

HttpError session_not_found() {
  return not_found("Session not found");
}

HttpError not_acceptable(std::string text) {
  return refused_with(406, std::move(text));
}

HttpError too_large(std::string text) {
  return refused_with(413, std::move(text));
}

HttpError unsupported_type(std::string text) {
  return refused_with(415, std::move(text));
}

HttpError unavailable(std::string text) {
  return refused_with(503, std::move(text));
}

HttpError not_allowed(std::string allow, std::string text) {
  HttpError refusal = refused_with(405, std::move(text));
  refusal.allow = std::move(allow);
  return refusal;
}

HttpError bad_request(int code, std::string text) {
  return rpc_error(400, code, std::move(text));
}

HttpError invalid_request(std::string text) {
  return bad_request(mcp::kInvalidRequest, std::move(text));
}

HttpError invalid_params(std::string text) {
  return bad_request(mcp::kInvalidParams, std::move(text));
}

HttpError no_message(const mcp::MessageFault& fault) {
  const bool not_json = fault.kind == mcp::MessageFault::Kind::not_json;
  return bad_request(not_json ? mcp::kParseError : mcp::kInvalidRequest,
                     fault.text + (fault.too_deep ? " (listen.maxDepth)" : ""));
}

HttpError no_room_for_session(std::string_view limit) {
  HttpError refusal =
      unavailable("too many sessions for now to continue this one (" + std::string(limit) + ")");
  refusal.reason = mcp::EndReason::queue_full;
  return refusal;
}

HttpError too_many_sessions(const mcp::Message& request, const std::string& server) {
  return own_error(request, {.reason = mcp::EndReason::queue_full,
                             .text = "too many sessions (lineward listen.maxSessions)",
                             .upstream = server});
}

HttpError without_session(const mcp::Message& request, const std::string& server) {
  return own_error(request, {.reason = mcp::EndReason::upstream_unreachable,
                             .text = "no session could be opened for this request",
                             .upstream = server});
}

HttpError denied(core::PolicyError denial, ToldPolicies told) {
  const int code = denial.status == 200 ? mcp::row(denial.reason).code : denial.status;
  HttpError refusal = rpc_error(denial.status, code, std::move(denial.text));
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

// The answer to a refused request, and the usual ones by name. Pure: proxy/client/endpoint/refusal_writer.h
// writes it.
#pragma once

#include <string>
#include <string_view>

#include "protocol/mcp/end_reason.h"
#include "protocol/mcp/message.h"
#include "proxy/core/gate.h"
#include "proxy/core/headers.h"

namespace lineward::client {

// `code`: of the JSON-RPC error in the body.
struct HttpError {
  int status = 400;
  int code = -32600;
  std::string text;
  std::string body;   // the whole body, unless it is made from code and text
  std::string allow;  // for 405
  mcp::EndReason reason = mcp::EndReason::invalid_request;
  core::HeaderFields headers;
  bool told = false;        // policies know of it: they refused it
  std::string by = {};      // the refusing plugin's configured name
  std::string method = {};  // of JSON-RPC, where it is known
};

// A request that another party (a server or a replica) failed to answer, and what its client gets instead.
struct UnansweredRequest {
  int status = 200;
  int code = 0;  // of the JSON-RPC error; 0: none could be sent
  mcp::EndReason reason = mcp::EndReason::internal;
  std::string_view why;
  std::string_view method;  // of JSON-RPC; empty: unknown
};

// The HTTP status is the code of the error, too.
HttpError refused_with(int status, std::string text);
HttpError forbidden(std::string text);         // 403
HttpError not_found(std::string text);         // 404
HttpError session_not_found();                 // 404, for foreign sessions as for unknown ones
HttpError not_acceptable(std::string text);    // 406
HttpError too_large(std::string text);         // 413
HttpError unsupported_type(std::string text);  // 415
HttpError unavailable(std::string text);       // 503
// 405; `allow`: the accepted methods, as in the header.
HttpError not_allowed(std::string allow, std::string text);

// 400, with the code of a JSON-RPC error.
HttpError bad_request(int code, std::string text);
HttpError invalid_request(std::string text);
HttpError invalid_params(std::string text);
// A JSON-RPC error that has an HTTP status of its own.
HttpError rpc_error(int status, int code, std::string text);

// The body is not a JSON-RPC message.
HttpError no_message(const mcp::MessageFault& fault);

// A message of a session that another replica shared, while this one may have no further session (503): the
// session lives, and may be continued later or elsewhere.
HttpError no_room_for_session(std::string_view limit);
// A request that would exceed the session limit: Lineward's own error, which the HTTP specification does not
// define.
HttpError too_many_sessions(const mcp::Message& request, const std::string& server);
// The request's session could not be opened.
HttpError without_session(const mcp::Message& request, const std::string& server);

// A policy has refused it. `told`: the policies that count refusals know of it already.
enum class ToldPolicies : bool { no, yes };
HttpError denied(core::PolicyError denial, ToldPolicies told);

}  // namespace lineward::client

#include "proxy/upstream/http/first_revision.h"

#include "foundation/json/json_scan.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

bool asks_for_first_revision(const HttpCall& call) {
  return call.request.wire() != mcp::Wire::http && call.request.method == Method::initialize &&
         call.request.message.text(Field::params_protocol_version) == mcp::kFirstOfAll;
}

std::string with_revision(const mcp::Message& message, Field field, std::string_view revision) {
  json::Splice splice = message.splice();
  splice.replace(message.at(field), json::quote(revision));
  return splice.apply();
}

}  // namespace

std::string legacy_request(const HttpSession& session, const HttpCall& call) {
  const mcp::Message& message = call.request.message;
  if (!call.revision.empty()) {
    auto other = mcp::Message::parse(with_revision(message, Field::params_protocol_version, call.revision));
    if (other) return mcp::request_for_upstream(*other, call.id);
  }
  if (!session.over_sse() && asks_for_first_revision(call)) {
    auto newer =
        mcp::Message::parse(with_revision(message, Field::params_protocol_version, mcp::kWithBatches));
    if (newer) return mcp::request_for_upstream(*newer, call.id);
  }
  return mcp::request_for_upstream(message, call.id);
}

mcp::Message legacy_answer(const HttpSession& session, const HttpCall& call, mcp::Message answer) {
  bool successor = answer.text(Field::result_protocol_version) == mcp::kWithBatches;
  if (session.over_sse() || !asks_for_first_revision(call) || !successor) return answer;
  auto older = mcp::Message::parse(with_revision(answer, Field::result_protocol_version, mcp::kFirstOfAll));
  return older ? std::move(*older) : std::move(answer);
}

std::string handshake_of(const HttpSession& session, const HttpCall& call) {
  auto sent = mcp::Message::parse(legacy_request(session, call));
  return sent ? std::string(sent->raw(Field::params)) : std::string();
}

}  // namespace lineward::upstream

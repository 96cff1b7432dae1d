#include "proxy/upstream/http/handshake_revision.h"

#include <algorithm>

#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http/http_session.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;

constexpr std::string_view kWidelySpoken = "2025-06-18";

// The newest legacy revision among those that `is_named` accepts; empty: none.
template <class IsNamed>
std::string newest_named(std::string_view tried, IsNamed&& is_named) {
  for (const mcp::Revision& revision : mcp::kRevisions) {
    if (revision.era == mcp::Era::legacy && revision.name != tried && is_named(revision.name))
      return std::string(revision.name);
  }
  return {};
}

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

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

std::string other_revision(std::string_view params, const mcp::Message* answer, const MessagesEnd& end,
                           Named which) {
  const bool refused_by_mcp = answer && answer->kind() == mcp::MessageKind::error &&
                              mcp::error_code(*answer) != mcp::kMethodNotFound &&
                              (end.status < 300 || end.status == 400);
  const bool refused_by_http = !answer && end.kind == MessagesEnd::Kind::refused && end.status == 400;
  if (!refused_by_mcp && !refused_by_http) return {};
  const std::string tried = json::string_value(json::member(params, "protocolVersion"));
  if (answer && answer->has(Field::error_data_supported)) {
    const auto named = mcp::spoken_versions(answer->raw(Field::error_data_supported));
    return newest_named(tried, [&](std::string_view name) {
      return std::find(named.begin(), named.end(), name) != named.end();
    });
  }
  const std::string words = answer ? answer->text(Field::error_message) : end.fault.text;
  std::string named = newest_named(tried, [&](std::string_view name) { return contains(words, name); });
  if (!named.empty() || which == Named::only) return named;
  const bool of_versions = refused_by_http || contains(words, "ersion") || contains(words, "evision");
  return of_versions && tried != kWidelySpoken ? std::string(kWidelySpoken) : std::string();
}

std::string with_handshake_revision(std::string_view params, std::string_view revision) {
  const auto tried = json::member(params, "protocolVersion");
  if (revision.empty() || !tried) return std::string(params);
  const size_t at = static_cast<size_t>(tried->data() - params.data());
  std::string out(params);
  return out.replace(at, tried->size(), json::quote(revision));
}

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

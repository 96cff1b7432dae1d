// The half of HttpFront that asks who calls (core/gate.h), before sessions and messages are looked at.
#include "client/http_front.h"
#include "mcp/errors.h"

namespace lineward::client {
namespace {

constexpr size_t kMostAtGate = 1024;  // requests whose credentials are being looked into at once

}  // namespace

void HttpFront::ask_gate(ClientConnection& connection, std::string body) {
  const http::RequestHead& head = connection.head();
  connection.use_caller(nullptr);
  if (at_gate_.size() >= kMostAtGate)
    return refuse(connection,
                  {503, 503, "too many requests whose credentials are being looked into", {}, {}});
  auto route = paths_.servers.find(std::string(head.path));
  core::GateRequest request{head.headers, head.method, head.path,
                            route == paths_.servers.end() ? std::string_view() : route->second,
                            connection.peer()};
  uint64_t number = next_at_gate_++;
  auto later = [this, alive = alive_, asker = &connection, number](core::GateAnswer answer) {
    if (!*alive) return;
    auto found = at_gate_.find(asker);
    if (found == at_gate_.end() || found->second.number != number) return;  // the client went away
    AtGate waited = std::move(found->second);
    at_gate_.erase(found);
    auto connected = connections_.find(asker);
    if (connected == connections_.end()) return;
    through_gate(*connected->second, std::move(answer), std::move(waited.body));
  };
  auto answer = gate_->admit(request, std::move(later));
  if (answer) return through_gate(connection, std::move(*answer), std::move(body));
  at_gate_[&connection] = {number, std::move(body), gate_};
}

void HttpFront::through_gate(ClientConnection& connection, core::GateAnswer answer, std::string body) {
  if (auto* denial = std::get_if<core::Denial>(&answer)) {
    Refusal refusal;
    refusal.status = denial->status;
    refusal.code = denial->status;
    refusal.text = std::move(denial->text);
    refusal.reason = denial->reason;
    refusal.headers = std::move(denial->headers);
    mcp::GatewayError error;
    error.reason = denial->reason;
    error.text = refusal.text;
    refusal.body = mcp::gateway_error({}, error);
    return refuse(connection, refusal);
  }
  connection.use_caller(std::get<core::CallerPtr>(std::move(answer)));
  dispatch(connection, std::move(body));
}

core::HeaderFields HttpFront::seen_by_plugins(const ClientConnection& connection) const {
  core::HeaderFields out;
  if (!gate_ || gate_->headers_wanted().empty()) return out;
  const http::HeaderList& headers = connection.head().headers;
  for (const std::string& name : gate_->headers_wanted()) {
    if (headers.count(name) == 1) out.emplace_back(name, std::string(headers.get(name)));
  }
  return out;
}

}  // namespace lineward::client

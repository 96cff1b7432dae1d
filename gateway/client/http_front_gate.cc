// The half of HttpFront that decides who comes in: what can be told from a head before its body is read, who
// calls (core/gate.h), and what is for everybody. All of it before sessions and messages are looked at.
#include <fmt/format.h>

#include "client/cors.h"
#include "client/http_front.h"
#include "mcp/errors.h"

namespace lineward::client {
namespace {

constexpr size_t kMostAtGate = 1024;  // requests whose credentials are being looked into at once
// A body that announces no more is read before anybody is asked: most come in one piece with their head.
constexpr uint64_t kSmallBody = 16 * 1024;

}  // namespace

std::string_view HttpFront::server_of(const http::RequestHead& head) const {
  auto route = paths_.servers.find(std::string(head.path));
  return route == paths_.servers.end() ? std::string_view() : route->second;
}

uint64_t HttpFront::most_bytes(std::string_view server) const {
  if (paths_.most_bytes.empty()) return UINT64_MAX;
  auto found = paths_.most_bytes.find(std::string(server));
  return found == paths_.most_bytes.end() ? UINT64_MAX : found->second;
}

void HttpFront::refuse_size(ClientConnection& connection, std::string_view server) {
  refuse(connection, {413,
                      413,
                      fmt::format("the body is larger than {} bytes (mcpServers.{}.limits.maxRequestBytes)",
                                  most_bytes(server), server),
                      {},
                      {}});
}

// Nothing of a large body is read for nobody.
bool HttpFront::on_head(ClientConnection& connection) {
  connection.use_caller(nullptr);  // that of the request before
  const http::RequestHead& head = connection.head();
  const uint64_t length = head.body_bytes;
  if (!paths_.most_bytes.empty() && length != UINT64_MAX) {
    auto sse = paths_.sse_posts.find(std::string(head.path));
    std::string_view server = sse == paths_.sse_posts.end() ? server_of(head) : std::string_view(sse->second);
    if (length > most_bytes(server)) return refuse_size(connection, server), true;
  }
  if (length <= kSmallBody && !head.expect_continue) return false;
  if (auto refusal = check_addresses(head.headers, config_, listener_ && listener_->is_loopback()))
    return refuse(connection, *refusal), true;
  if (!gate_ || gate_->open()) return false;
  auto answer = gate_->admit(gate_request(connection), nullptr);
  auto* denial = answer ? std::get_if<core::Denial>(&*answer) : nullptr;
  if (denial == nullptr) return false;
  turn_away(connection, std::move(*denial));
  return true;
}

void HttpFront::on_request(ClientConnection& connection, std::string body) {
  const http::RequestHead& head = connection.head();
  if (!paths_.documents.empty() && serve_document(connection)) return;
  connection.use_caller(nullptr);
  if (auto refusal = check_addresses(head.headers, config_, listener_ && listener_->is_loopback())) {
    return refuse(connection, *refusal);
  }
  if (is_preflight(head.method, head.headers, config_)) {
    auto rules = paths_.forward.find(std::string(server_of(head)));
    return connection.respond(204, {}, {}, preflight_headers(head.headers, [&](std::string_view name) {
                                return rules != paths_.forward.end() && rules->second.passes(name);
                              }));
  }
  if (gate_ && !gate_->open()) return ask_gate(connection, std::move(body));
  dispatch(connection, std::move(body));
}

// Read by clients that have no token yet, from whatever page they run in.
bool HttpFront::serve_document(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  auto document = paths_.documents.find(std::string(head.path));
  if (document == paths_.documents.end()) return false;
  if (auto refusal = check_host(head.headers, config_, listener_ && listener_->is_loopback())) {
    refuse(connection, *refusal);
  } else if (head.method == "GET" || head.method == "HEAD") {
    connection.respond(200, "application/json", document->second, public_headers());
  } else if (head.method == "OPTIONS") {
    connection.respond(204, {}, {}, public_headers());
  } else {
    refuse(connection, {405, 405, "protected-resource metadata is read with GET", {}, "GET, HEAD"});
  }
  return true;
}

core::GateRequest HttpFront::gate_request(const ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  // Policies know paths by their configured names.
  auto route = paths_.servers.find(std::string(head.path));
  const bool served = route != paths_.servers.end();
  return {head.headers, head.method, served ? std::string_view(route->first) : head.path,
          served ? std::string_view(route->second) : std::string_view(), connection.peer()};
}

void HttpFront::ask_gate(ClientConnection& connection, std::string body) {
  if (at_gate_.size() >= kMostAtGate)
    return refuse(connection,
                  {503, 503, "too many requests whose credentials are being looked into", {}, {}});
  uint64_t number = next_at_gate_++;
  auto later = lifetime_.guard([this, asker = &connection, number](core::GateAnswer answer) {
    auto found = at_gate_.find(asker);
    if (found == at_gate_.end() || found->second.number != number) return;  // the client went away
    AtGate waited = std::move(found->second);
    at_gate_.erase(found);
    auto connected = connections_.find(asker);
    if (connected == connections_.end()) return;
    through_gate(*connected->second, std::move(answer), std::move(waited.body));
  });
  auto answer = gate_->admit(gate_request(connection), std::move(later));
  if (answer) return through_gate(connection, std::move(*answer), std::move(body));
  auto held = std::make_unique<HeldBytes>();
  held->charge(connection.account());
  held->set(body.size());
  at_gate_[&connection] = {number, std::move(body), gate_, std::move(held)};
}

// For those who count and log what was refused.
void HttpFront::note_refused(const ClientConnection& connection, int status, mcp::EndReason reason,
                             std::string_view why) const {
  if (!gate_) return;
  const http::RequestHead& head = connection.head();
  core::RefusedRequest refused{
      connection.peer(), head.method, head.path, server_of(head), status, reason, why};
  refused.caller = connection.caller().get();
  gate_->on_refused(refused);
}

// Of what could not be read there is no head, or not one to go by.
void HttpFront::on_fault(ClientConnection& connection, const http::RequestFault& fault) {
  if (gate_)
    gate_->on_refused(
        {connection.peer(), {}, {}, {}, fault.status, mcp::EndReason::invalid_request, fault.text});
}

void HttpFront::turn_away(ClientConnection& connection, core::Denial denial, bool told) {
  Refusal refusal;
  refusal.told = told;
  refusal.status = denial.status;
  refusal.code = denial.status;
  refusal.text = std::move(denial.text);
  refusal.reason = denial.reason;
  refusal.headers = std::move(denial.headers);
  mcp::GatewayError error;
  error.reason = denial.reason;
  error.text = refusal.text;
  refusal.body = mcp::gateway_error({}, error);
  refuse(connection, refusal);
}

void HttpFront::through_gate(ClientConnection& connection, core::GateAnswer answer, std::string body) {
  if (auto* denial = std::get_if<core::Denial>(&answer)) return turn_away(connection, std::move(*denial));
  connection.use_caller(std::get<core::CallerPtr>(std::move(answer)));
  dispatch(connection, std::move(body));
}

core::HeaderFields HttpFront::seen_by_plugins(const ClientConnection& connection) const {
  core::HeaderFields out;
  if (!gate_ || gate_->headers_wanted().empty()) return out;
  const http::HeaderList& headers = connection.head().headers;
  for (const std::string& name : gate_->headers_wanted()) {
    if (headers.count(std::string_view(name)) == 1)
      out.emplace_back(name, std::string(headers.get(std::string_view(name))));
  }
  return out;
}

}  // namespace lineward::client

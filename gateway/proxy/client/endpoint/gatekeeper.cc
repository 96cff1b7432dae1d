#include "proxy/client/endpoint/gatekeeper.h"

#include <utility>
#include <variant>

#include "proxy/client/http/admission.h"
#include "proxy/client/http/cors.h"

namespace lineward::client {
namespace {

constexpr size_t kMaxWaiting = 1024;
// Bodies up to this announced size are read before authentication: most arrive in one piece with their head.
constexpr uint64_t kSmallBody = 16 * 1024;

}  // namespace

Gatekeeper::Gatekeeper(const config::Listen& config, const FrontListener& listener, const PathRouter& router,
                       const std::shared_ptr<core::Gate>& gate, const RefusalWriter& refusals,
                       Admitted admitted_later)
    : config_(config),
      listener_(listener),
      router_(router),
      gate_(gate),
      refusals_(refusals),
      admitted_later_(std::move(admitted_later)) {}

bool Gatekeeper::refuses_head(ClientConnection& connection) {
  const http::RequestHead& head = connection.head();
  const uint64_t length = head.body_bytes;
  if (router_.limits_bodies() && length != UINT64_MAX) {
    std::string_view server = router_.server_of_sse_post(head);
    if (server.empty()) server = router_.server_of(head);
    if (!router_.fits(length, server))
      return refusals_.refuse(connection, router_.body_too_large(server)), true;
  }
  if (length <= kSmallBody && !head.expect_continue) return false;
  if (auto refusal = check_addresses(head.headers, config_, listener_.is_loopback()))
    return refusals_.refuse(connection, *refusal), true;
  if (connection.certificate() != nullptr && !take_certificate(connection)) return true;
  if (!gate_ || gate_->open(config_.name)) return false;
  auto answer = gate_->admit(question(connection), nullptr);
  auto* denial = answer ? std::get_if<core::PolicyError>(&*answer) : nullptr;
  if (denial == nullptr) return false;
  refusals_.refuse(connection, denied(std::move(*denial), ToldPolicies::no));
  return true;
}

bool Gatekeeper::wants_body(const http::RequestHead& head) const {
  return head.method == "POST" && router_.takes_posts(head) &&
         !check_addresses(head.headers, config_, listener_.is_loopback());
}

bool Gatekeeper::admit(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  if (auto refusal = check_addresses(head.headers, config_, listener_.is_loopback()))
    return refusals_.refuse(connection, *refusal), false;
  if (head.method == "OPTIONS" && is_preflight(head.method, head.headers, config_)) {
    const auto& forward = router_.table().forward;
    auto rules = forward.find(std::string(router_.server_of(head)));
    connection.respond(204, {}, {}, preflight_headers(head.headers, [&](std::string_view name) {
                         return rules != forward.end() && rules->second.passes(name);
                       }));
    return false;
  }
  if (connection.certificate() != nullptr && !take_certificate(connection)) return false;
  return !gate_ || gate_->open(config_.name) || ask(connection, body);
}

// Other credentials of the request outrank it (PluginSet::admit).
bool Gatekeeper::take_certificate(ClientConnection& connection) const {
  core::GateAnswer answer = connection.certificate()->judge(config_.tls);
  if (auto* denial = std::get_if<core::PolicyError>(&answer)) {
    refusals_.refuse(connection, denied(std::move(*denial), ToldPolicies::no));
    return false;
  }
  connection.use_caller(std::get<core::CallerPtr>(std::move(answer)));
  return true;
}

core::GateRequest Gatekeeper::question(ClientConnection& connection) const {
  const http::RequestHead& head = connection.head();
  // Policies know paths by their configured names.
  const ServerPaths& servers = router_.table().servers;
  auto route = servers.find(std::string(head.path));
  const bool served = route != servers.end();
  const bool certified = connection.certificate() != nullptr && connection.caller() != nullptr;
  return {head.headers,
          head.method,
          served ? std::string_view(route->first) : head.path,
          served ? std::string_view(route->second) : std::string_view(),
          connection.client(),
          certified ? &connection.caller() : nullptr,
          config_.name,
          connection.facts().passed_by_peer ? std::string_view() : std::string_view(connection.peer())};
}

bool Gatekeeper::ask(ClientConnection& connection, std::string& body) {
  if (waiting_.size() >= kMaxWaiting) {
    refusals_.refuse(connection,
                     unavailable("too many requests are waiting for their credentials to be checked"));
    return false;
  }
  const uint64_t number = next_++;
  auto later = lifetime_.guard([this, asker = &connection, number](core::GateAnswer answer) {
    auto found = waiting_.find(asker);
    if (found == waiting_.end() || found->second.number != number) return;  // the client disconnected
    Waiting waited = std::move(found->second);
    waiting_.erase(found);
    if (decided(*asker, std::move(answer))) admitted_later_(*asker, std::move(waited.body));
  });
  auto answer = gate_->admit(question(connection), std::move(later));
  if (answer) return decided(connection, std::move(*answer));
  auto held = std::make_unique<MemoryCharge>(Held::bodies);
  held->charge(connection.account());
  held->set(body.size());
  waiting_[&connection] = {number, std::move(body), gate_, std::move(held)};
  return false;
}

bool Gatekeeper::decided(ClientConnection& connection, core::GateAnswer answer) {
  if (auto* denial = std::get_if<core::PolicyError>(&answer)) {
    refusals_.refuse(connection, denied(std::move(*denial), ToldPolicies::no));
    return false;
  }
  connection.use_caller(std::get<core::CallerPtr>(std::move(answer)));
  return true;
}

}  // namespace lineward::client

#include "proxy/client/http/cors.h"

#include <algorithm>
#include <string>

namespace lineward::client {
namespace {

// Request headers of clients of any revision.
constexpr std::string_view kSent =
    "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, "
    "Mcp-Session-Id, Prefer, X-API-Key, baggage, traceparent, tracestate, Lineward-Session";
// Response headers that clients must be able to read.
constexpr std::string_view kExposed =
    "Mcp-Session-Id, WWW-Authenticate, Retry-After, RateLimit, RateLimit-Policy, MCP-Protocol-Version, "
    "Lineward-Session";
constexpr size_t kMaxRequested = 64;

bool is_token(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_listed(const http::HeaderList& request, const config::Listen& listen) {
  if (request.count("Origin") != 1) return false;
  std::string_view origin = request.get("Origin");
  return std::any_of(listen.allowed_origins.begin(), listen.allowed_origins.end(),
                     [&](const std::string& one) { return http::equals_ignoring_case(one, origin); });
}

bool names(const std::vector<http::OutHeader>& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const http::OutHeader& one) { return http::equals_ignoring_case(one.name, name); });
}

}  // namespace

void add_cors(std::vector<http::OutHeader>& answer, const http::HeaderList& request,
              const config::Listen& listen) {
  if (listen.allowed_origins.empty() || names(answer, "Access-Control-Allow-Origin")) return;
  answer.push_back({"Vary", "Origin"});
  if (!is_listed(request, listen)) return;
  answer.push_back({"Access-Control-Allow-Origin", std::string(request.get("Origin"))});
  answer.push_back({"Access-Control-Expose-Headers", std::string(kExposed)});
}

bool is_preflight(std::string_view method, const http::HeaderList& request, const config::Listen& listen) {
  return method == "OPTIONS" && request.count("Access-Control-Request-Method") == 1 &&
         is_listed(request, listen);
}

std::vector<http::OutHeader> preflight_headers(const http::HeaderList& request,
                                               const std::function<bool(std::string_view)>& passes) {
  std::string allowed(kSent);
  std::string_view rest = request.get("Access-Control-Request-Headers");
  for (size_t seen = 0; !rest.empty() && seen < kMaxRequested; ++seen) {
    size_t comma = std::min(rest.size(), rest.find(','));
    std::string_view name = http::trim_white_space(rest.substr(0, comma));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
    if (!is_token(name) || http::list_has_token(kSent, name)) continue;
    bool mirrors = name.size() > 4 && http::equals_ignoring_case(name.substr(0, 4), "mcp-");
    if (mirrors || passes(name)) allowed += ", " + std::string(name);
  }
  return {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
          {"Access-Control-Allow-Headers", std::move(allowed)},
          {"Access-Control-Max-Age", "7200"}};
}

std::vector<http::OutHeader> public_headers() {
  return {{"Access-Control-Allow-Origin", "*"},
          {"Access-Control-Allow-Methods", "GET"},
          {"Access-Control-Allow-Headers", "*"},
          {"Access-Control-Max-Age", "7200"},
          {"Cache-Control", "max-age=300"}};
}

}  // namespace lineward::client

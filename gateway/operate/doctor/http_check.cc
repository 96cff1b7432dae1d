#include "operate/doctor/checks.h"

#include <fmt/format.h>

#include "config/duration.h"
#include "foundation/log/sanitize.h"
#include "operate/doctor/access_token.h"
#include "operate/doctor/clock_check.h"
#include "operate/fetch/http_exchange.h"
#include "operate/fetch/redactor.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::doctor {
namespace {

using fetch::HttpTarget;
using fetch::Redactor;
using std::chrono::steady_clock;

// Whether the body has a JSON-RPC answer.
bool has_message(std::string_view body) {
  const size_t found = body.find("\"jsonrpc\"");
  return found != std::string_view::npos && body.find('}', found) != std::string_view::npos;
}

// Whether it has the first event of HTTP+SSE (2024-11-05), with the URL for messages.
bool has_endpoint(std::string_view body) {
  const size_t found = body.find("event: endpoint");
  return found != std::string_view::npos && body.find("data:", found) != std::string_view::npos;
}

// Sends one request on its own connection. `headers`: beside those of the server.
Answer ask(const config::Server& server, const HttpTarget& target, std::string_view method,
           std::string headers, const std::string& body, fetch::Enough enough,
           steady_clock::time_point until) {
  headers += "Connection: close\r\n";
  for (const auto& [name, value] : server.headers)
    headers += fmt::format("{}: {}\r\n", name, value);
  return fetch::fetch(target, target.request(method, headers, body), enough, until);
}

bool has_result(const Answer& answer) {
  return answer.status == 200 && answer.body.find("\"result\"") != std::string::npos;
}

// The meaning of a status without an MCP answer.
Step fix_of_status(const Answer& answer, const config::Server& server) {
  const std::string text = fmt::format("it answers with HTTP {}", answer.status);
  switch (answer.status) {
    case 401:
      if (!server.credentials.client_id.empty())
        return {text + " to the access token that clientCredentials got", "auth",
                "is the token made out to this url (resource), and does the server know its issuer?"};
      return {text, "auth",
              server.headers.empty() ? "headers: { Authorization: \"Bearer ${env:TOKEN}\" }, or credentials"
                                     : "the credentials in headers are not accepted: are they still valid?"};
    case 403:
      return {text, "auth", "these credentials may not do this, or the server refuses this Host or Origin"};
    case 404: return {text, "path", "is the path of url right? Mostly it is /mcp"};
    case 407: return {text, "proxy", "proxy: http://user:password@host:port gives the proxy its password"};
    case 301:
    case 302:
    case 307:
    case 308:
      return {fmt::format("{} to {}", text, Redactor(server)(answer.header("Location"))), "path",
              "write that address as url, if it is the server's"};
    default:
      return {text, "http",
              answer.status >= 500 ? "see the server's own log"
                                   : "is it an MCP server? Neither Streamable HTTP nor HTTP+SSE is "
                                     "spoken here"};
  }
}

// Only a GET identifies a server of 2024-11-05; its answer to a POST is arbitrary.
bool speaks_sse(const config::Server& server, const HttpTarget& target, steady_clock::time_point until) {
  const Answer answer = ask(server, target, "GET", "Accept: text/event-stream\r\n", {}, has_endpoint, until);
  return answer.status == 200 && has_endpoint(answer.body);
}

}  // namespace

void check_http_server(const config::Server& given, std::chrono::milliseconds patience, Findings& findings) {
  config::Server server = given;  // plus the requested credentials
  auto target = fetch::target_of(server);
  if (!target) return findings.error(target.error().check, target.error().fault, target.error().fix);
  const auto until = [patience] { return steady_clock::now() + patience; };
  auto post = [&](const std::string& body, std::string headers) {
    headers += "Accept: application/json, text/event-stream\r\n";
    return ask(server, *target, "POST", std::move(headers), body, has_message, until());
  };
  auto discover = [&] {
    return post(
        mcp::discover_request(1),
        fmt::format("MCP-Protocol-Version: {}\r\nMcp-Method: server/discover\r\n", mcp::kNewestModern));
  };
  const auto begun = steady_clock::now();
  Answer modern = discover();
  if (!modern.step.fault.empty())
    return findings.error(modern.step.check, modern.step.fault, modern.step.fix);
  const upstream::HttpUrl& url = target->url;
  findings.ok(
      "connect",
      fmt::format("{}{} answered after {}", sanitize(url.unix_path.empty() ? url.host_header : url.unix_path),
                  target->proxy ? " by its proxy" : "",
                  config::format_duration(
                      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - begun))));
  check_clock(modern.header("Date"), "its clock", findings);
  if (wants_token(server, modern)) {
    auto token = access_token(server, modern, patience);
    if (!token) return findings.error(token.error().check, token.error().fault, token.error().fix);
    findings.ok("auth", "clientCredentials got an access token");
    server.headers.emplace_back("Authorization", *token);
    modern = discover();
    if (!modern.step.fault.empty())
      return findings.error(modern.step.check, modern.step.fault, modern.step.fix);
  }
  if (modern.status == 401 || modern.status == 403 || modern.status == 407 ||
      (modern.status >= 300 && modern.status < 400)) {
    const Step step = fix_of_status(modern, server);
    return findings.error(step.check, step.fault, step.fix);
  }
  const bool is_modern = has_result(modern) && modern.body.find("supportedVersions") != std::string::npos;
  // The second request, `initialize`, does no harm: it has a time limit.
  Answer legacy;
  if (!is_modern || server.protocol_era == config::Era::legacy)
    legacy = post(mcp::initialize_request(2, mcp::bare_initialize_params()), {});
  const bool is_legacy = has_result(legacy) && legacy.body.find("protocolVersion") != std::string::npos;
  // Deletes the session that initialize has opened.
  if (const std::string session = legacy.header("Mcp-Session-Id"); !session.empty()) {
    ask(server, *target, "DELETE", "Mcp-Session-Id: " + session + "\r\n", {}, has_message, until());
  }
  const bool is_sse =
      !is_modern && !is_legacy && legacy.status != 200 && speaks_sse(server, *target, until());
  if (!is_modern && !is_legacy && !is_sse) {
    if (!legacy.step.fault.empty())
      return findings.error(legacy.step.check, legacy.step.fault, legacy.step.fix);
    const Step step = fix_of_status(legacy, server);
    return findings.error(
        step.check, legacy.status == 200 ? "it answers, and not as an MCP server" : step.fault, step.fix);
  }
  if (server.protocol_era == config::Era::modern && !is_modern)
    return findings.error("era", "protocolEra is modern, and the server speaks legacy", "protocolEra: auto");
  if (server.protocol_era == config::Era::legacy && !is_legacy && !is_sse)
    return findings.error("era", "protocolEra is legacy, and the server speaks modern", "protocolEra: auto");
  findings.ok("era", is_modern ? "modern" : is_sse ? "legacy, over HTTP+SSE (2024-11-05)" : "legacy");
}

}  // namespace lineward::doctor

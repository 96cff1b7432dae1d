#include "operate/doctor/checks.h"

#include <fmt/format.h>

#include "foundation/log/sanitize.h"
#include "operate/doctor/clock_check.h"
#include "operate/fetch/http_exchange.h"

namespace lineward::doctor {
namespace {

// A key set (RFC 7517), which may be empty.
bool has_set(std::string_view body) {
  const size_t found = body.find("\"keys\"");
  return found != std::string_view::npos && body.find(']', found) != std::string_view::npos;
}

}  // namespace

void check_token_keys(const config::PluginEntry& entry, std::chrono::milliseconds patience,
                      Findings& findings) {
  if (entry.type != "jwt" || entry.values.text("jwks.url").empty()) return;
  config::Server issuer;  // holds what a connection needs of a server
  issuer.url = entry.values.text("jwks.url");
  issuer.ca_file = entry.path_of(entry.values.text("jwks.caFile"));
  auto target = fetch::target_of(issuer);
  if (!target) return findings.error("keys", target.error().fault, target.error().fix);
  const fetch::Answer answer =
      fetch::fetch(*target, target->request("GET", "Accept: application/json\r\nConnection: close\r\n"),
                   has_set, std::chrono::steady_clock::now() + patience);
  if (!answer.step.fault.empty()) {
    const bool tls = answer.step.check == "tls";
    return findings.error(
        "keys", "jwks.url: " + answer.step.fault,
        tls && answer.step.fix.rfind("caFile", 0) == 0 ? "jwks." + answer.step.fix : answer.step.fix);
  }
  check_clock(answer.header("Date"), "the clock of the token issuer", findings);
  if (answer.status != 200 || !has_set(answer.body) || answer.body.find("\"kty\"") == std::string::npos) {
    return findings.error("keys",
                          fmt::format("jwks.url: {} gives no keys (HTTP {}): every token will be refused",
                                      sanitize(target->url.host_header), answer.status),
                          "the issuer names the right address as jwks_uri in its "
                          "/.well-known/openid-configuration or /.well-known/oauth-authorization-server");
  }
  findings.ok("keys", fmt::format("{} gives the keys of tokens", sanitize(target->url.host_header)));
}

}  // namespace lineward::doctor

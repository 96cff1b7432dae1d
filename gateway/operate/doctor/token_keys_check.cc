#include "operate/doctor/token_keys_check.h"

#include <fmt/format.h>

#include "foundation/log/printable.h"
#include "operate/doctor/clock_check.h"
#include "operate/doctor/http_line.h"

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
  auto target = target_of(issuer);
  if (!target) return findings.fault("keys", target.error().fault, target.error().fix);
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nConnection: close\r\n\r\n",
                  target->request_target(), target->url.host_header);
  const Asked asked =
      ask_once(issuer, *target, request, has_set, std::chrono::steady_clock::now() + patience);
  if (!asked.step.fault.empty()) {
    const bool tls = asked.step.check == "tls";
    return findings.fault(
        "keys", "jwks.url: " + asked.step.fault,
        tls && asked.step.fix.rfind("caFile", 0) == 0 ? "jwks." + asked.step.fix : asked.step.fix);
  }
  check_clock(header_of(asked.answer, "date"), "the clock of the token issuer", findings);
  if (asked.status != 200 || !has_set(asked.answer) || asked.answer.find("\"kty\"") == std::string::npos) {
    return findings.fault("keys",
                          fmt::format("jwks.url: {} gives no keys (HTTP {}): every token will be refused",
                                      printable(target->url.host_header), asked.status),
                          "the issuer names the right address as jwks_uri in its "
                          "/.well-known/openid-configuration or /.well-known/oauth-authorization-server");
  }
  findings.well("keys", fmt::format("{} gives the keys of tokens", printable(target->url.host_header)));
}

}  // namespace lineward::doctor

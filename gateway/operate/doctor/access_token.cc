#include "operate/doctor/access_token.h"

#include <fmt/format.h>

#include <optional>

#include "config/duration.h"
#include "operate/doctor/masked.h"
#include "proxy/upstream/http_client/oauth_client.h"

namespace lineward::doctor {
namespace {

// Parses the head of a complete answer.
http::ResponseInfo head_of(const Asked& asked) {
  http::ResponseInfo info;
  info.status = asked.status;
  const size_t end = asked.answer.find("\r\n\r\n");
  for (size_t at = asked.answer.find("\r\n"); at < end;) {
    at += 2;
    const size_t next = asked.answer.find("\r\n", at);
    const std::string_view line = std::string_view(asked.answer).substr(at, next - at);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      info.headers.add(line.substr(0, colon), http::trim_white_space(line.substr(colon + 1)));
    at = next;
  }
  return info;
}

}  // namespace

bool wants_token(const config::Server& server, const Asked& asked) {
  return !server.credentials.client_id.empty() && (asked.status == 401 || asked.status == 403);
}

Result<std::string, Step> access_token(const config::Server& server, const Asked& refusal,
                                       std::chrono::milliseconds patience) {
  constexpr const char* kFix =
      "are clientId, clientSecret (or privateKey) and issuer of clientCredentials right, and does that "
      "address give "
      "tokens?";
  std::shared_ptr<net::TlsContext> tls;
  if (auto made = net::TlsContext::for_client({server.ca_file, server.client_cert, server.client_key}))
    tls = *made;
  net::Loop loop;
  std::optional<std::string> fault;
  std::string authorization;
  {
    upstream::OauthClient client(loop, server, tls);
    net::Timer late(loop);
    if (client.refused({}, head_of(refusal))) {
      late.start(patience, [&] {
        fault = "gives no access token within " + config::format_duration(patience);
        loop.stop();
      });
      client.fetch([&](const std::string& why) {
        fault = why;
        loop.stop();
      });
      loop.run();
      authorization = client.authorization();
    }
  }
  loop.close_all();
  if (!fault)
    return Unexpected<Step>{{fmt::format("it answers with HTTP {}", refusal.status), "auth",
                             "what its clientCredentials are granted is not enough for it"}};
  if (!fault->empty())
    return Unexpected<Step>{{"its authorization server " + Masked(server)(*fault, 400), "auth", kFix}};
  return authorization;
}

}  // namespace lineward::doctor

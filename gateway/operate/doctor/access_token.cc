#include "operate/doctor/access_token.h"

#include <fmt/format.h>

#include <optional>

#include "config/duration.h"
#include "operate/fetch/redactor.h"
#include "proxy/upstream/http_client/oauth_client.h"

namespace lineward::doctor {
bool wants_token(const config::Server& server, const Answer& answer) {
  return !server.credentials.client_id.empty() && (answer.status == 401 || answer.status == 403);
}

Result<std::string, Step> access_token(const config::Server& server, const Answer& refusal,
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
    if (client.refused({}, refusal.exchange->info())) {
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
    return Unexpected<Step>{
        {"its authorization server " + fetch::Redactor(server)(*fault, 400), "auth", kFix}};
  return authorization;
}

}  // namespace lineward::doctor

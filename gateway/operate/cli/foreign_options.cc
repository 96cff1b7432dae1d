#include "operate/cli/foreign_options.h"

#include <array>

namespace lineward::cli {
namespace {

struct Foreign {
  std::string_view option, instead;
};

// Without the options that are accepted with a notice (prepare.cc).
constexpr std::array kForeign{
    // supergateway
    Foreign{"--streamableHttp", "lineward stdio URL, or lineward run --url URL"},
    Foreign{"--sse", "lineward stdio URL, or lineward run --url URL; the transport is found out"},
    Foreign{"--oauth2Bearer", "-H 'Authorization: Bearer ${env:TOKEN}'"},
    Foreign{"--healthEndpoint", "/livez and /readyz on the ops address, 127.0.0.1:9464 (--ops)"},
    Foreign{"--stateful", "--isolation session; auto chooses"},
    Foreign{"--sessionTimeout", "listen.sessionIdle: 1m in a configuration file"},
    Foreign{"--cors", "listen.allowedOrigins: [\"https://app.example.com\"] in a configuration file"},
    Foreign{"--ssePath", "listen.legacySse: true in a configuration file; it is at /sse"},
    Foreign{"--messagePath", "listen.legacySse: true in a configuration file; it names the path itself"},
    Foreign{"--baseUrl", "not needed: addresses in answers are relative"},
    // mcp-proxy, in Python and in TypeScript
    Foreign{"--transport", "not needed: the transport is found out"},
    Foreign{"--pass-environment", "not needed: a command behind -- has the shell's environment"},
    Foreign{"--headers", "-H 'KEY: VALUE'"},
    Foreign{"--client-id", "clientCredentials of the server in a configuration file"},
    Foreign{"--client-secret", "clientCredentials of the server in a configuration file"},
    Foreign{"--token-url", "clientCredentials of the server in a configuration file"},
    Foreign{"--allow-origin", "listen.allowedOrigins: [\"https://app.example.com\"] in a configuration file"},
    Foreign{"--requestTimeout", "--timeout 5m"},
    Foreign{"--apiKey", "auth.apiKey with hashed keys in a configuration file: lineward help auth"},
    Foreign{"--server-type", "not needed: Streamable HTTP is at /mcp; listen.legacySse adds /sse"},
    Foreign{"--sessionIdleTimeout", "listen.sessionIdle: 30m in a configuration file"},
    Foreign{"--shell", "-- sh -c '…'"},
    Foreign{"--host", "--listen HOST:PORT"},
    // mcp-remote
    Foreign{"--header-file", "-H 'Authorization: Bearer ${file:/path/token}'"},
    Foreign{"--protocol", "not needed: it is found out"},
    Foreign{"--allow-http", "not needed: http:// is taken"},
    Foreign{"--client-credentials", "clientCredentials of the server in a configuration file"},
    Foreign{"--ignore-tool", "toolFilter: { deny: [\"delete*\"] } in a configuration file"},
    Foreign{"--enable-proxy", "not needed: HTTPS_PROXY and NO_PROXY count"},
};

}  // namespace

std::string_view instead_of(std::string_view option) {
  for (const Foreign& one : kForeign) {
    if (one.option == option) return one.instead;
  }
  return {};
}

}  // namespace lineward::cli

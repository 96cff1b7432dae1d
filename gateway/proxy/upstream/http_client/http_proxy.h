// Selects the proxy for an HTTP server: the configured one, or that of HTTPS_PROXY, http_proxy and NO_PROXY,
// as curl and Go read them. Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "proxy/upstream/http_client/http_url.h"

namespace lineward::upstream {

struct HttpProxy {
  std::string host;
  uint16_t port = 0;
  std::string authorization;  // the value of Proxy-Authorization, or empty. A secret: never log it
};

using Environment = std::function<std::optional<std::string>(std::string_view name)>;
Environment process_environment();

// `option`: a URL, "none", or empty for the environment. Empty result: no proxy. Errors never contain
// credentials.
Result<std::optional<HttpProxy>> choose_proxy(const HttpUrl& url, std::string_view option,
                                              const Environment& env);

// http://[user[:password]@]host[:port]; the default scheme is http, the default port 80 (not 8080).
Result<HttpProxy> parse_proxy(std::string_view text);

// Does NO_PROXY name this host? Entries are separated by commas or blanks. `*` is every host, example.com
// that host and its subdomains, .example.com and *.example.com only the subdomains. An entry may also be an
// address or a network in CIDR notation; each with :port for that port alone. Loopback hosts never use a
// proxy of the environment.
bool bypasses_proxy(std::string_view no_proxy, std::string_view host, uint16_t port);

}  // namespace lineward::upstream

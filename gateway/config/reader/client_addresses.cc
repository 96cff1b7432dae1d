#include "config/reader/client_addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/options/read_value.h"
#include "config/reader/section_findings.h"
#include "foundation/base/user_ids.h"
#include "foundation/net/networks.h"

namespace lineward::config {
namespace {

constexpr size_t kMostProxies = 1000;
constexpr const char* kProxies = "trustedProxies";
constexpr const char* kProtocol = "proxyProtocol";
constexpr const char* kSocket = "socket";

bool is_unix(const Listen& listen) {
  return listen.address.rfind("unix:", 0) == 0;
}

void check_proxies(const Listen& listen, SectionFindings& findings) {
  const bool headers = listen.proxy_protocol != ProxyProtocol::off;
  if (listen.trusted_proxies.empty()) {
    if (headers)
      findings.add(kProtocol, "missing-option",
                   "proxyProtocol takes trustedProxies: a PROXY header is believed from them alone",
                   "add trustedProxies: [10.0.0.0/8], with the network of the proxies");
    if (listen.client_header != ClientHeader::either)
      findings.add("clientHeader", "missing-option",
                   "clientHeader takes trustedProxies: the header is believed from them alone",
                   "add trustedProxies: [10.0.0.0/8], with the network of the proxies");
    return;
  }
  if (listen.trusted_proxies.size() > kMostProxies) {
    findings.add(kProxies, "too-many", fmt::format("more than {} trustedProxies", kMostProxies),
                 "write networks instead of addresses");
    return;
  }
  auto networks = net::Networks::parse(listen.trusted_proxies);
  if (!networks) {
    findings.add(kProxies, "bad-network", findings.name() + ".trustedProxies: " + clip(networks.error().text),
                 {});
    return;
  }
  if (networks->has_everyone())
    findings
        .add(kProxies, "trusts-everyone",
             "trustedProxies has every address: each client can claim any address by a header",
             "write the networks of the proxies")
        .severity = Severity::warning;
  const auto& all = listen.trusted_proxies;
  const bool has_unix = std::find(all.begin(), all.end(), "unix") != all.end();
  if (has_unix && !is_unix(listen))
    findings
        .add(kProxies, "ignored-option",
             fmt::format("'unix' trusts the clients of a Unix socket, and the address is {}",
                         clip(listen.address)),
             "write the address of the proxy, such as 127.0.0.1")
        .severity = Severity::warning;
  if (headers && is_unix(listen) && !has_unix)
    findings.add(kProxies, "bad-value", "no PROXY header is believed on this Unix socket",
                 "add unix to trustedProxies");
}

void check_socket(const Listen& listen, SectionFindings& findings) {
  const SocketAccess& socket = listen.socket;
  if (socket == SocketAccess()) return;
  if (!is_unix(listen)) {
    findings.add(kSocket, "bad-value",
                 fmt::format("socket is for a Unix socket, and the address is {}", clip(listen.address)),
                 "write address: unix:/path, or remove socket:");
    return;
  }
  if (!socket.owner.empty()) {
    if (auto id = user_id(socket.owner); !id)
      findings.add(kSocket, "unknown-user", "socket.owner: " + clip(id.error().text), {});
  }
  if (!socket.group.empty()) {
    if (auto id = group_id(socket.group); !id)
      findings.add(kSocket, "unknown-group", "socket.group: " + clip(id.error().text), {});
  }
}

}  // namespace

void check_client_addresses(const Member* section, const std::string& name, const Listen& listen,
                            LoadResult& result) {
  SectionFindings findings(section, name, result);
  check_proxies(listen, findings);
  check_socket(listen, findings);
}

}  // namespace lineward::config

#include "config/reader/client_addresses.h"

#include <catch2/catch.hpp>

#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

const std::string kServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";

LoadResult with(const std::string& listen) {
  return load("listen:\n" + listen + kServer);
}

}  // namespace

TEST_CASE("trusted proxies are networks, addresses and unix") {
  LoadResult result = with(
      "  trustedProxies: [10.0.0.0/8, 'fd00::/8', 192.0.2.7]\n"
      "  clientHeader: X-Forwarded-For\n  proxyProtocol: required\n");
  INFO(result.report(false));
  CHECK(result.diagnostics.empty());
  CHECK(result.config.listen.trusted_proxies.size() == 3);
  CHECK(result.config.listen.client_header == ClientHeader::x_forwarded_for);
  CHECK(result.config.listen.proxy_protocol == ProxyProtocol::required);
  CHECK(findings(with("  address: unix:/run/a.sock\n  trustedProxies: [unix]\n  proxyProtocol: trusted\n"))
            .empty());
}

TEST_CASE("what is wrong with trusted proxies is told where it stands") {
  LoadResult name = with("  trustedProxies: [10.0.0.0/8, proxy.example]\n");
  CHECK(findings(name) == "bad-network 2:3+14");
  CHECK(name.report(false).find("'proxy.example' is no network") != std::string::npos);
  CHECK(findings(with("  trustedProxies: [10.0.0.1/8]\n")) == "bad-network 2:3+14");
  LoadResult everyone = with("  trustedProxies: [0.0.0.0/0]\n");
  CHECK(findings(everyone) == "trusts-everyone 2:3+14");
  CHECK(everyone.ok());
  CHECK(findings(with("  proxyProtocol: trusted\n")) == "missing-option 2:3+13");
  CHECK(findings(with("  clientHeader: Forwarded\n")) == "missing-option 2:3+12");
  CHECK(findings(with("  clientHeader: forwarded\n")) == "unknown-choice 2:17+9");
  CHECK(findings(with("  proxyProtocol: true\n")) == "unknown-choice 2:18+4");
  LoadResult tcp = with("  trustedProxies: [unix]\n");
  CHECK(findings(tcp) == "ignored-option 2:3+14");
  CHECK(tcp.ok());
  CHECK(findings(
            with("  address: unix:/run/a.sock\n  trustedProxies: [127.0.0.1]\n  proxyProtocol: trusted\n")) ==
        "bad-value 3:3+14");
  std::string many;
  for (int i = 0; i < 1001; ++i)
    many += "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ", ";
  CHECK(findings(with("  trustedProxies: [" + many + "]\n")) == "too-many 2:3+14");
}

TEST_CASE("a Unix socket has a mode, an owner and a group") {
  LoadResult good = with("  address: unix:/run/a.sock\n  socket: { mode: 0660, owner: root, group: 0 }\n");
  INFO(good.report(false));
  CHECK(good.diagnostics.empty());
  CHECK(good.config.listen.socket.mode == "0660");
  CHECK(findings(with("  socket: { mode: 0660 }\n")) == "bad-value 2:3+6");
  for (const char* mode : {"0680", "66", "1777", "rw", "00660", "0o660"})
    CHECK(findings(with("  address: unix:/run/a.sock\n  socket: { mode: " + std::string(mode) + " }\n"))
              .rfind("bad-value 3:", 0) == 0);
  CHECK(findings(with("  address: unix:/run/a.sock\n  socket: { owner: no-such-user }\n")) ==
        "unknown-user 3:3+6");
  CHECK(findings(with("  address: unix:/run/a.sock\n  socket: { group: no-such-group }\n")) ==
        "unknown-group 3:3+6");
}

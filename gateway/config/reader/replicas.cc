#include "config/reader/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "config/auth_blocks.h"
#include "config/reader/section_findings.h"
#include "config/reader/variables.h"
#include "foundation/base/own_host.h"
#include "foundation/base/regular_file.h"
#include "foundation/net/networks.h"
#include "foundation/net/tls.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxKeyFile = 64 * 1024;
constexpr size_t kMaxPeerAuthorities = 1 << 20;

// A connection of a replica begins without a PROXY header. With `trusted` that is right unless the replicas
// are among the proxies, as far as their addresses are known.
bool expects_header(const Listen& listen, const Replicas& replicas) {
  if (listen.proxy_protocol != ProxyProtocol::trusted)
    return listen.proxy_protocol == ProxyProtocol::required;
  const auto proxies = net::Networks::parse(listen.trusted_proxies);
  if (!proxies) return false;
  const auto is_proxy = [&](const auto& peer) { return proxies->contains(host_of_url(peer.second)); };
  return std::any_of(replicas.peers.begin(), replicas.peers.end(), is_proxy) ||
         (!replicas.peers_from.empty() && proxies->contains(replicas.name));
}

// The URLs of the replicas may lead to any listener.
void check_proxy_protocol(const Config& config, SectionFindings& findings) {
  const Replicas& replicas = config.replicas;
  if (replicas.peers.empty() && replicas.peers_from.empty()) return;
  const auto is_fit = [&](const FurtherListen& one) { return !expects_header(one.listen, replicas); };
  if (!expects_header(config.listen, replicas) ||
      std::any_of(config.listeners.begin(), config.listeners.end(), is_fit))
    return;
  findings.add(replicas.peers.empty() ? "peersFrom" : "peers", "bad-value",
               "replicas send no PROXY header to each other, and listen.proxyProtocol expects one of them",
               "write proxyProtocol: trusted with no replica in trustedProxies, or give the replicas a "
               "listener of their own (listeners:)");
}

}  // namespace

void check_replicas(const Node& root, const LoadOptions& options, LoadResult& result) {
  Replicas& replicas = result.config.replicas;
  SectionFindings findings(root, "replicas", result);
  if (!replicas.peers.empty() && replicas.name.empty()) {
    findings.add("peers", "missing-option",
                 "replicas.peers is of no use without replicas.name: ids must name their replica",
                 "add name:, such as ${env:HOSTNAME}");
  }
  if (!replicas.peers_from.empty()) {
    if (!replicas.peers.empty())
      findings.add("peersFrom", "bad-value", "replicas has peers and peersFrom", "remove one of them");
    if (!net::IpAddress::parse(replicas.name))
      findings.add(replicas.name.empty() ? "peersFrom" : "name", "bad-value",
                   "with replicas.peersFrom a replica's name is its address, as the name in peersFrom has it",
                   "write name: ${env:POD_IP}, with the address of this replica");
  }
  // A request that another replica passes on comes from that replica. The proxy's secret passes with it.
  if (!replicas.key_file.empty()) {
    each_auth(result.config, [&](const Auth& auth) {
      for (const PluginEntry& entry : auth.methods) {
        if (entry.type != kTrustedProxy || entry.values.list("networks").empty()) continue;
        findings.add("keyFile", "bad-value",
                     "with replicas, auth.trustedProxy cannot tell a proxy by its network: another replica "
                     "may pass its "
                     "requests on",
                     "give trustedProxy a secret: and no networks:");
      }
    });
  }
  check_proxy_protocol(result.config, findings);
  const auto is_https = [](std::string_view url) { return url.substr(0, 8) == "https://"; };
  const bool any_tls =
      is_https(replicas.peers_from) || std::any_of(replicas.peers.begin(), replicas.peers.end(),
                                                   [&](const auto& peer) { return is_https(peer.second); });
  if (!replicas.ca_file.empty()) {
    replicas.ca_file = resolve_path(replicas.ca_file, options.directory);
    if (!any_tls)
      findings
          .add("caFile", "ignored-option", "replicas.caFile is for https://, and no replica has such a URL",
               "write https:// for the replicas' URLs")
          .severity = Severity::warning;
    net::TlsOptions tls;
    tls.ca_file = replicas.ca_file;
    if (options.read_files) {
      auto usable = check_regular_file(tls.ca_file, kMaxPeerAuthorities);
      std::string fault = usable ? std::string() : usable.error().text;
      if (usable) {
        if (auto context = net::TlsContext::for_client(tls); !context) fault = context.error().text;
      }
      if (!fault.empty())
        findings.add("caFile", "bad-authorities", fmt::format("{}: {}", replicas.ca_file, fault),
                     "caFile: is a PEM file of certificates");
    }
  }
  if (replicas.key_file.empty()) {
    if (replicas.peers.empty() && replicas.name.empty() && replicas.peers_from.empty()) return;
    findings.add("keyFile", "missing-option",
                 "replicas take a keyFile: without a common key none can trust another",
                 "openssl rand -base64 32 > replicas.key");
    return;
  }
  if (result.config.listen.address == "stdio") {
    findings
        .add("keyFile", "ignored-option",
             "on stdio there is one client and one session: 'replicas' is ignored", {})
        .severity = Severity::info;
    return;
  }
  replicas.key_file = resolve_path(replicas.key_file, options.directory);
  if (!options.read_files) return;
  auto keys = read_replica_keys(replicas.key_file);
  if (!keys) {
    findings.add("keyFile", "bad-key-file", "replicas.keyFile: " + keys.error().text,
                 "one key a line: openssl rand -base64 32 > replicas.key");
  } else {
    findings.check_secrecy("keyFile", "open-key-file", replicas.key_file);
  }
}

Result<std::shared_ptr<const SealKeys>> read_replica_keys(const std::string& path) {
  auto text = read_small_file(path, kMaxKeyFile);
  if (!text) return Unexpected<Error>{text.error()};
  auto keys = SealKeys::parse(*text);
  if (!keys) return fail(path + ": " + keys.error().text);
  return keys;
}

}  // namespace lineward::config

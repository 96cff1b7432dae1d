#include "config/options/option_groups.h"

#include <algorithm>

#include "config/options/option_row.h"

namespace lineward::config {
namespace {

using namespace rows;

constexpr size_t kMaxPeers = 64;

// The error, or empty. 1 to 63 letters, digits, '-', '_', '.' and ':': names appear in header values.
std::string_view replica_name_fault(std::string_view name) {
  bool good = !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  });
  return good ? std::string_view() : "a replica's name is 1 to 63 letters, digits, '-', '_', '.' and ':'";
}

// http://host:port, https://host:port or unix:/path, without a request path or user.
std::string_view peer_url_fault(std::string_view url) {
  constexpr std::string_view kFault =
      "a peer is http://host:port, https://host:port or unix:/path, and no more";
  bool plain = std::all_of(url.begin(), url.end(),
                           [](char c) { return c > ' ' && c < 0x7f && c != '@' && c != '?' && c != '#'; });
  if (!plain) return kFault;
  if (url.substr(0, 6) == "unix:/") return url.size() > 6 ? std::string_view() : kFault;
  for (std::string_view scheme : {"http://", "https://"}) {
    if (url.substr(0, scheme.size()) != scheme) continue;
    std::string_view authority = url.substr(scheme.size());
    if (!authority.empty() && authority.back() == '/') authority.remove_suffix(1);
    return authority.empty() || authority.find('/') != std::string_view::npos ? kFault : std::string_view();
  }
  return kFault;
}

std::string_view check_name(const Value& value) {
  return value.text.empty() ? std::string_view() : replica_name_fault(value.text);
}

std::string_view check_peers(const Value& value) {
  if (value.map.size() > kMaxPeers) return "at most 64 peers";
  for (const auto& [name, url] : value.map) {
    std::string_view fault = replica_name_fault(name);
    if (fault.empty()) fault = peer_url_fault(url);
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string_view check_peers_from(const Value& value) {
  if (value.text.empty()) return {};
  if (value.text.substr(0, 5) == "unix:") return "a name has addresses: write http:// or https://";
  return peer_url_fault(value.text);
}

}  // namespace

void add_replica_rows(std::vector<Option>& rows) {
  using R = Replicas;
  constexpr auto k = &Config::replicas;
  rows.push_back(
      row<k, &R::key_file>("replicas.keyFile", Kind::text, "", {},
                           "A file with keys that all replicas share, one per line (openssl rand -base64 "
                           "32). The first key seals session ids, and each key opens them. With this file "
                           "every replica can serve a legacy session of an HTTP server."));
  rows.push_back(row<k, &R::name>("replicas.name", Kind::text, "", {},
                                  "The name of this replica, in the ids of sessions that only it can serve.",
                                  check_name));
  rows.push_back(
      row<k, &R::peers>("replicas.peers", Kind::map, "", {},
                        "The other replicas by name: { a: http://10.0.0.1:8000 }. This replica may be in the "
                        "list too. A request that only one replica can serve is passed to that replica.",
                        check_peers));
  rows.push_back(row<k, &R::peers_from>(
      "replicas.peersFrom", Kind::text, "", {},
      "Instead of peers: a URL with a host name that has an address for each replica (a headless service), "
      "such as https://lineward-replicas:8000. The name of each replica is its address.",
      check_peers_from));
  rows.push_back(row<k, &R::ca_file>(
      "replicas.caFile", Kind::text, "", {},
      "The authorities (PEM) that sign the replicas' certificates, for https:// URLs. Empty: the system's."));
  rows.push_back(row<k, &R::session_lifetime>(
      "replicas.sessionLifetime", Kind::duration, "24h", {kMinute, 365 * kDay},
      "How long a sealed session id is valid. After that its client has to initialise again."));
}

}  // namespace lineward::config

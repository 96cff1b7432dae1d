#include "config/options_replicas.h"

#include "config/option_row.h"
#include "config/replicas.h"

namespace lineward::config {
namespace {

using rows::row;

constexpr uint64_t kMinute = 60'000, kDay = 24 * 60 * kMinute;

std::string_view check_name(const Value& value) {
  return value.text.empty() ? std::string_view() : replica_name_fault(value.text);
}

std::string_view check_peers(const Value& value) {
  if (value.map.size() > kMostPeers) return "at most 64 peers";
  for (const auto& [name, url] : value.map) {
    std::string_view fault = replica_name_fault(name);
    if (fault.empty()) fault = peer_url_fault(url);
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace

void add_replica_rows(std::vector<Option>& rows) {
  using R = Replicas;
  constexpr auto k = &Config::replicas;
  rows.push_back(row<k, &R::key_file>(
      "replicas.keyFile", Kind::text, "", {},
      "Keys that all replicas share, one a line (openssl rand -base64 32): the first seals, every one opens. "
      "With it a legacy session on an HTTP server can be served by any replica."));
  rows.push_back(row<k, &R::name>("replicas.name", Kind::text, "", {},
                                  "The name of this replica, in the ids of sessions that only it can serve.",
                                  check_name));
  rows.push_back(row<k, &R::peers>(
      "replicas.peers", Kind::map, "", {},
      "The others by name, and this one if you like: { a: http://10.0.0.1:8000 }. Requests that only one of "
      "them can serve are passed there.",
      check_peers));
  rows.push_back(row<k, &R::session_lifetime>(
      "replicas.sessionLifetime", Kind::duration, "24h", {kMinute, 365 * kDay},
      "How long a sealed session id is good for; then its client has to initialise anew."));
}

}  // namespace lineward::config

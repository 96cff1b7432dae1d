#include "config/options/option_groups.h"

#include "config/options/option_row.h"

namespace lineward::config {
namespace {

using namespace rows;

// A page table alone needs more than this.
std::string_view check_memory(const Value& value) {
  if (value.number == 0 || value.number >= kMiB) return {};
  return "no program starts with less than 1MiB of address space";
}

std::string_view check_cpu(const Value& value) {
  return value.duration.count() % 1000 == 0 ? std::string_view() : "CPU time is limited in whole seconds";
}

std::string_view check_open_files(const Value& value) {
  if (value.number == 0 || value.number >= 8) return {};
  return "a program needs a few descriptors for itself: at least 8";
}

std::string_view check_buffered(const Value& value) {
  if (value.number == 0 || value.number >= kMiB) return {};
  return "at least 1MiB, or 0 for no limit";
}

}  // namespace

void add_listen_limits(std::vector<Option>& rows) {
  using L = Listen;
  constexpr auto k = &Config::listen;
  rows.push_back(row<k, &L::max_buffered_bytes>(
      "listen.maxBufferedBytes", Kind::size, "512MiB", {0, 1024 * kGiB},
      "Bytes held in memory for all clients and servers: bodies, queues, backlogs. From 85 % on no new "
      "streams, from 95 % on no requests. 0: no limit.",
      check_buffered));
  rows.push_back(row<k, &L::max_buffered_bytes_per_principal>(
      "listen.maxBufferedBytesPerPrincipal", Kind::size, "0", {0, 1024 * kGiB},
      "The part of maxBufferedBytes for one principal, or for one address if callers are not authenticated. "
      "Clients behind one proxy share an address. 0: a quarter."));
  rows.push_back(row<k, &L::max_principal_percent>(
      "listen.maxPrincipalPercent", Kind::count, "75", {1, 100},
      "The largest share of one principal, in percent: of listen.maxSessions, of a server's instances, and "
      "of its running and waiting calls. Callers without authentication are one principal for each address. "
      "Also the largest share of one address in listen.maxConnections."));
  rows.push_back(row<k, &L::max_in_flight>("listen.maxInFlight", Kind::count, "10000", {0, kMillion},
                                           "The largest number of requests under way, of all clients "
                                           "together. Listens do not count. 0: no limit."));
  rows.push_back(row<k, &L::max_in_flight_per_principal>(
      "listen.maxInFlightPerPrincipal", Kind::count, "0", {0, kMillion},
      "The same for each principal; without authentication all clients are one principal. 0: no limit."));
  rows.push_back(row<k, &L::max_connections_per_address>(
      "listen.maxConnectionsPerAddress", Kind::count, "0", {0, kMillion},
      "The largest number of connections from one IP address (a /64 network with IPv6). Clients behind one "
      "proxy share an address. 0: listen.maxPrincipalPercent of listen.maxConnections."));
}

void add_server_limits(std::vector<Option>& rows) {
  constexpr auto b = &Server::circuit_breaker;
  rows.push_back(row<b, &CircuitBreaker::consecutive_failures>(
      "mcpServers.*.circuitBreaker.consecutiveFailures", Kind::count, "5", {0, 1000},
      "After this many failures in a row, calls are refused at once (docs/limits.md). 0: never."));
  rows.push_back(row<b, &CircuitBreaker::open_for>(
      "mcpServers.*.circuitBreaker.openFor", Kind::duration, "30s", {10, kDay},
      "How long calls are refused; then one call is sent as a probe."));
  constexpr auto o = &Server::origins;
  rows.push_back(row<o, &Origins::eject_after>(
      "mcpServers.*.origins.ejectAfter", Kind::count, "5", {0, 1000},
      "Several urls: after this many failures in a row an origin gets no calls for a while "
      "(docs/origins.md). At most half of the origins are left out. 0: never."));
  rows.push_back(row<o, &Origins::eject_for>(
      "mcpServers.*.origins.ejectFor", Kind::duration, "10s", {10, kDay},
      "How long such an origin gets no calls at first; the time doubles each time."));
  rows.push_back(row<o, &Origins::max_eject_for>("mcpServers.*.origins.maxEjectFor", Kind::duration, "5m",
                                                 {10, kDay}, "The longest such time."));
  rows.push_back(row<o, &Origins::max_retry_after>(
      "mcpServers.*.origins.maxRetryAfter", Kind::duration, "1m", {0, kDay},
      "HTTP: if a server, or one of its urls, answers 429 or 503 with Retry-After, it gets no calls for that "
      "long, at most for this time. 0s: Retry-After is ignored."));
  rows.push_back(row<o, &Origins::slow_start>(
      "mcpServers.*.origins.slowStart", Kind::duration, "10s", {0, kHour},
      "Several urls: an origin that is new or back gets its full share after this time. 0s: at once."));
  rows.push_back(row<o, &Origins::resolve>(
      "mcpServers.*.origins.resolve", Kind::duration, "0s", {0, kDay},
      "Each address of the host name is an origin; the name is resolved again after this time. 0s: a name "
      "is one origin."));
  rows.push_back(row<o, &Origins::check>("mcpServers.*.origins.check", Kind::duration, "0s", {0, kDay},
                                         "Several urls: the time between two checks of each origin. 0s: no "
                                         "checks; only calls show whether an origin works."));
  rows.push_back(row<o, &Origins::check_timeout>("mcpServers.*.origins.checkTimeout", Kind::duration, "2s",
                                                 {10, kHour},
                                                 "A check without an answer within this time has failed."));
  constexpr auto p = &Server::pool;
  rows.push_back(row<p, &Pool::prewarm>("mcpServers.*.pool.prewarm", Kind::count, "0", {0, 1000},
                                        "stdio: the number of processes that are started in advance, for the "
                                        "next session or call that needs one. They count as instances."));
  rows.push_back(row<p, &Pool::max_lifetime>("mcpServers.*.pool.maxLifetime", Kind::duration, "0s",
                                             {0, 365 * kDay},
                                             "stdio: a process of this age gets no more calls, completes "
                                             "those that it has, and is replaced. 0: never."));
  rows.push_back(row<p, &Pool::max_requests>(
      "mcpServers.*.pool.maxRequests", Kind::count, "0", {0, 1'000'000'000},
      "stdio: the same for a process that was given this many calls. 0: any number."));
  constexpr auto c = &Server::cache;
  rows.push_back(
      row<c, &Cache::enabled>("mcpServers.*.cache.enabled", Kind::flag, "false", {},
                              "Answer discover, lists and resources/read from memory as long as the server "
                              "allows (ttlMs). Identical requests under way share one call."));
  rows.push_back(row<c, &Cache::trust_public>("mcpServers.*.cache.trustPublic", Kind::flag, "false", {},
                                              "Results that this server marks as public are cached once for "
                                              "all principals; otherwise each principal has its own."));
  rows.push_back(row<c, &Cache::max_bytes>(
      "mcpServers.*.cache.maxBytes", Kind::size, "16MiB", {1024, kGiB},
      "The largest number of cached bytes; the least recently used result is dropped first."));

  constexpr auto t = &Server::tools;
  rows.push_back(
      choice<t, &ToolsView::only>("mcpServers.*.tools.only", "all|readOnly|nonDestructive", "all",
                                  "Which tools clients see and may call, by the annotations that the server "
                                  "gives them: those with readOnlyHint, or also those with destructiveHint: "
                                  "false. A tool without these annotations is left out."));
  rows.push_back(
      choice<t, &ToolsView::schema>("mcpServers.*.tools.schema", "unchanged|repaired", "unchanged",
                                    "repaired: in lists of tools each inputSchema gets type and properties, "
                                    "and its local references are resolved, for strict model APIs."));
  constexpr auto r = &Server::rlimit;
  rows.push_back(row<r, &Rlimit::memory>("mcpServers.*.rlimit.memory", Kind::size, "0", {0, 1024 * kGiB},
                                         "stdio: address space of each process (RLIMIT_AS); Node reserves "
                                         "gigabytes. 0: the limit of Lineward's own process.",
                                         check_memory));
  rows.push_back(row<r, &Rlimit::open_files>(
      "mcpServers.*.rlimit.openFiles", Kind::count, "0", {0, kMillion},
      "stdio: open descriptors of each process (RLIMIT_NOFILE). 0: the limit of Lineward's own process.",
      check_open_files));
  rows.push_back(row<r, &Rlimit::cpu>(
      "mcpServers.*.rlimit.cpu", Kind::duration, "0s", {0, 365 * kDay},
      "stdio: CPU time after which the kernel ends a process (RLIMIT_CPU), in whole seconds. 0: any.",
      check_cpu));
  rows.push_back(row<r, &Rlimit::processes>("mcpServers.*.rlimit.processes", Kind::count, "0", {0, kMillion},
                                            "stdio: processes and threads of its user, all programs together "
                                            "(RLIMIT_NPROC); root is exempt. 0: any."));
  rows.push_back(row<r, &Rlimit::core>(
      "mcpServers.*.rlimit.core", Kind::flag, "true", {},
      "stdio: false: the server's processes write no core files, which may contain secrets."));
  rows.push_back(row<&Server::tell_stderr>("mcpServers.*.errors.stderr", Kind::flag, "true", {},
                                           "stdio: the error of a start that failed has the server's last "
                                           "line on stderr, with the values of `env` blacked out."));
}

}  // namespace lineward::config

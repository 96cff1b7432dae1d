// The configuration as plain structs with their defaults; config/reader/load.h fills them from YAML or JSON
// and reports every error at once. A running gateway changes it only between loop turns, at a reload
// (gateway/runtime/reloader.h). Keep references to the structs, never into their strings and vectors. Option
// names, units, ranges and help: config/options/options.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/environment.h"
#include "config/plugin_values.h"

namespace lineward::config {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// behaviour.md 4: queue → connect → startup → request (restarts at each progress) ≤ maxDuration (never
// restarts).
struct Timeouts {
  milliseconds connect = 5s;  // HTTP: look-up, connection, proxy and TLS handshake together
  milliseconds startup = 60s;
  milliseconds request = 60s;
  milliseconds max_duration = 10min;
  milliseconds acknowledge = 5s;      // of a listen
  milliseconds park = 10min;          // wait for the client's answer to a server's question
  milliseconds question_batch = 5ms;  // questions of one call within this interval are sent to the client
                                      // together
  milliseconds cancel_grace =
      5s;  // a cancelled call that ends later than this counts as having ignored the cancel
  bool progress_resets = true;
};

// Limits for names that match a glob ('*' any text, '?' one character); unset limits keep their value.
struct TimeoutOverride {
  std::string pattern;
  std::optional<milliseconds> request;
  std::optional<milliseconds> max_duration;
  std::optional<bool> progress_resets;
  bool operator==(const TimeoutOverride&) const = default;
};

// A server's tools as clients see them (docs/views.md).
enum class ToolsOnly : uint8_t { all, read_only, non_destructive };
enum class ToolSchema : uint8_t { as_is, repaired };
// A tool under another name, title or description. `tool` is the server's own name.
struct ShownTool {
  std::string tool;
  std::optional<std::string> name, title, description;
  bool operator==(const ShownTool&) const = default;
};
struct ToolsView {
  ToolsOnly only = ToolsOnly::all;
  ToolSchema schema = ToolSchema::as_is;
  std::vector<ShownTool> shown;  // in the order of `tool`

  bool is_empty() const { return only == ToolsOnly::all && schema == ToolSchema::as_is && shown.empty(); }
};

struct Limits {
  uint32_t max_in_flight = 64;  // per server; listens and suspended calls do not count
  uint32_t max_queue = 256;
  milliseconds queue_timeout = 10s;
  uint32_t max_parked = 256;                 // suspended calls that wait for their client's retry
  uint32_t max_parked_per_caller = 8;        // of them, those not evicted in favour of another caller
  uint64_t max_parked_bytes = 16ull << 20;   // questions of suspended calls, and results that came too early
  uint64_t max_message_bytes = 32ull << 20;  // one message from the server
  uint64_t max_list_bytes = 4ull << 20;      // of one answer that is processed item by item
  uint64_t max_request_bytes = 0;            // body of a client's request; 0: as listen.max_body_bytes
  // HTTP servers:
  uint32_t max_connections = 10000;  // at once, including streams and idle connections; further calls wait
  uint32_t idle_connections = 64;    // kept open for the next request
  milliseconds idle_timeout = 4s;    // of an idle connection, unless the server states it (Keep-Alive)
  uint32_t max_head_bytes = 64 * 1024;
  uint32_t max_sessions = 10000;         // with the server, of clients and of Lineward
  uint32_t max_gateway_sessions = 1000;  // opened by Lineward for clients without sessions
};

struct Restart {
  milliseconds backoff = 200ms;  // doubles with jitter
  milliseconds max_backoff = 30s;
};

// After this many consecutive failures no call is sent to the server for a while (docs/limits.md).
struct CircuitBreaker {
  uint32_t consecutive_failures = 5;  // 0: never
  milliseconds open_for = 30s;        // then one probe call is sent
};

// An HTTP server may have several addresses (docs/origins.md).
struct OriginUrl {
  std::string url;
  uint32_t weight = 1;  // its share of calls and sessions, relative to the others'
  bool drain = false;   // gets nothing new
  bool operator==(const OriginUrl&) const = default;
};

// How calls are spread over several origins, and when one is left alone.
struct Origins {
  uint32_t eject_after = 5;  // failures in a row; 0: never
  milliseconds eject_for = 10s;
  milliseconds max_eject_for = 5min;
  milliseconds max_retry_after = 1min;  // of a server that sends Retry-After; 0: ignored
  milliseconds slow_start = 10s;        // of an origin that is back; 0: full share at once
  milliseconds resolve{0};              // each address of a name is an origin; 0: a name is one origin
  milliseconds check{0};                // between checks of each origin; 0: none
  milliseconds check_timeout = 2s;
};

// Prewarmed processes, and the lifetime of a process.
struct Pool {
  uint32_t prewarm = 0;          // spare processes started ahead
  milliseconds max_lifetime{0};  // 0: unlimited
  uint64_t max_requests = 0;     // 0: unlimited
};

// Response cache (docs/cache.md).
struct Cache {
  bool enabled = false;
  bool trust_public = false;  // results marked public by the server are shared by all callers
  uint64_t max_bytes = 16ull << 20;
};

// When a server is started or connected to (docs/quick-starts.md): with Lineward, or at its first use.
enum class ServerStart : uint8_t { boot, on_use };
// Whether answers are remembered for the next life: with `start: onUse`, always, never.
enum class RememberLists : uint8_t { automatic, on, off };
// Answers of a stdio server to discover, `initialize` and lists, kept on disk (docs/quick-starts.md).
struct Remember {
  RememberLists lists = RememberLists::automatic;
  std::string directory;  // empty: that of the state of this user or service
  uint64_t max_bytes = 4ull << 20;
};

// Kernel limits for each process of a server (setrlimit); 0: as Lineward's own.
struct Rlimit {
  uint64_t memory = 0;      // bytes of address space
  uint64_t open_files = 0;  // descriptors
  milliseconds cpu{0};      // CPU time; whole seconds
  uint64_t processes = 0;   // of the user it runs as
  bool core = true;         // false: no core files
};

// Retries of failed requests. Only if `attempts` is above 1, and never for a request that may have had an
// effect.
struct Retry {
  uint32_t attempts = 1;         // total; 1: no retry
  std::vector<std::string> on;   // connect, reset, unavailable; empty: connect
  milliseconds backoff = 100ms;  // doubles
  uint32_t budget = 20;          // retries per 100 calls
};

// Close stdin, wait, SIGTERM to the group, wait, SIGKILL.
struct Stop {
  milliseconds stdin_grace = 2s;
  milliseconds term_grace = 5s;
};

enum class SigningAlgorithm : uint8_t { es256, es384, es512, rs256, rs384, rs512 };

// OAuth client credentials for an HTTP server (the MCP authorization pages). All but issuer, scope and URLs
// are secrets.
struct ClientCredentials {
  std::string client_id;      // empty: no client credentials
  std::string client_secret;  // either this or private_key
  std::string private_key;    // PEM, for private_key_jwt
  SigningAlgorithm algorithm = SigningAlgorithm::es256;
  std::string issuer;     // the authorization server they belong to; empty: the one named by the MCP server
  std::string token_url;  // instead of discovery
  std::string scope;      // instead of the scope requested by the server
};

// Scope of clients' caching of a server's lists (2026-07-28, cacheScope): shared, or per client.
enum class CacheScope : uint8_t { own, everyone };
enum class Era : uint8_t { automatic, legacy, modern };
// The transport to a server. automatic: stdio for a command; for a url Streamable HTTP, then HTTP+SSE
// (2024-11-05).
enum class ServerType : uint8_t { automatic, stdio, http, sse };
enum class Isolation : uint8_t { automatic, shared, session, principal, call };
// Whether each legacy session has its own process on a legacy server (over HTTP: its own session). Otherwise
// Lineward initialises the process, and sessions may share it.
constexpr bool is_of_one_session(Isolation isolation) {
  return isolation == Isolation::automatic || isolation == Isolation::session;
}
// Whether all callers of a modern stdio server share one process. Otherwise a failing process affects its own
// callers only.
constexpr bool is_of_all_callers(Isolation isolation) {
  return isolation == Isolation::automatic || isolation == Isolation::shared;
}
// Handling of legacy requests without a session id, at a server that keeps sessions.
enum class MissingSession : uint8_t { adopt, refuse };
// The workers that serve a server over HTTP.
enum class ServerWorkers : uint8_t { all, one };
// HTTP/2 towards a server: if it agrees by ALPN, always, never (docs/http2.md).
enum class ServerHttp2 : uint8_t { automatic, always, never };
enum class CancelMode : uint8_t { send, never, kill };
enum class StdoutMode : uint8_t { tolerant, strict };

// The identity of callers, for a server (docs/identity.md): names of headers, of members of `_meta` and of
// environment variables, each with its words (config/identity_words.h).
struct Identity {
  using Map = std::vector<std::pair<std::string, std::string>>;
  Map headers;
  Map meta;
  Map env;
  std::vector<std::string> withheld;  // headers of clients that are never forwarded: those of trusted proxies
  bool operator==(const Identity&) const = default;
};

struct Server {
  std::string name;
  ServerType type = ServerType::automatic;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added last; values may be secrets: never log them
  std::string env_file;  // NAME=value lines, already merged into `env` when loaded
  std::string cwd;
  InheritedEnv inherit_env;
  std::vector<std::string> withheld_env;  // variables used by other parts of the configuration only
  Era protocol_era = Era::automatic;
  ServerStart start = ServerStart::boot;
  Remember remember;
  Isolation isolation = Isolation::automatic;
  MissingSession missing_session = MissingSession::adopt;
  ServerWorkers workers = ServerWorkers::all;
  milliseconds reclaim_after = 1min;  // an idle session older than this may lose its process to another
  uint32_t instances = 64;            // maximum number of processes
  milliseconds instance_idle = 10min;
  milliseconds session_abandoned = 1min;  // 0: never (docs/isolation.md, "Abandoned sessions")
  Timeouts timeouts;
  std::vector<TimeoutOverride> method_timeouts;  // by method, then by tool; the first match of each applies
  std::vector<TimeoutOverride> tool_timeouts;
  ToolsView tools;
  Limits limits;
  Restart restart;
  CircuitBreaker circuit_breaker;
  Pool pool;
  Cache cache;
  Rlimit rlimit;
  bool tell_stderr = true;  // the error of a failed start includes its last stderr line
  Retry retry;
  Stop stop;
  CancelMode cancel = CancelMode::send;
  StdoutMode stdout_mode = StdoutMode::tolerant;
  // A server over Streamable HTTP instead of a command: http://…, https://… or unix:/socket[:/path].
  std::string url;
  std::vector<OriginUrl> urls;  // several of them; then `url` is the first one's. Empty: `url` alone
  Origins origins;
  std::vector<std::pair<std::string, std::string>>
      headers;                               // on every request; values may be secrets: never log them
  std::vector<std::string> forward_headers;  // names of client headers that are forwarded
  Identity identity;                         // `headers` and `env` with words about the caller are here only
  ClientCredentials credentials;
  std::string ca_file;      // PEM; empty: the system's authorities
  std::string client_cert;  // PEM
  std::string client_key;   // PEM; empty: in client_cert
  std::string proxy;  // http://[user:password@]host:port, or "none"; empty: from the environment. A secret
  ServerHttp2 http2 = ServerHttp2::automatic;
  CacheScope cache_scope = CacheScope::own;  // of its part in merged lists
  std::vector<std::string> roots;            // file:// URIs answering roots/list if no session does
  bool required = false;
  bool disabled = false;
  std::string files_seen;  // digests of caFile, clientCert and clientKey (config/reader/changes.h)
  std::string file;        // the included file that defines it; empty: the configuration itself
};

// The oldest version of TLS that a listener speaks.
enum class TlsMinimum : uint8_t { tls12, tls13 };

// TLS for clients (docs/tls.md). Files are PEM, except OCSP responses.
struct ListenTls {
  struct Pair {
    std::string certificate;  // with its chain
    std::string key;          // empty: in `certificate`
    std::string ocsp;         // DER; empty: none
    bool operator==(const Pair&) const = default;
  };
  std::string certificate;  // the only one, or the first; empty: none
  std::string key;
  std::string ocsp;
  std::vector<Pair> certificates;  // further ones; the client's SNI chooses
  TlsMinimum min_version = TlsMinimum::tls12;
  std::string client_authorities;         // empty: no client certificates
  std::vector<std::string> client_names;  // globs; empty: all
  bool client_required = false;
  bool self_signed = false;  // a certificate made in memory, for trying it
  std::string realm;         // in front of the principals that these certificates name (docs/listeners.md)
  std::string files_seen;    // a digest of all these files (config/reader/changes.h)

  bool enabled() const { return self_signed || !certificate.empty() || !certificates.empty(); }
  // All pairs, the default first.
  std::vector<Pair> pairs() const {
    std::vector<Pair> all = certificates;
    if (!certificate.empty()) all.insert(all.begin(), {certificate, key, ocsp});
    return all;
  }
};

// Whether connections begin with a PROXY header (docs/client-addresses.md): none; those of trusted proxies;
// the same, and there are no others.
enum class ProxyProtocol : uint8_t { off, trusted, required };
// The header that trusted proxies write the client's address into.
enum class ClientHeader : uint8_t { either, forwarded, x_forwarded_for };

// Access to a Unix socket. Empty: mode 0600, the process's own user and group.
struct SocketAccess {
  std::string mode;  // octal
  std::string owner;
  std::string group;
  bool operator==(const SocketAccess&) const = default;
};

struct Listen {
  std::string name;  // of a further listener; empty: `listen` itself
  std::string
      realm;  // in front of the principals of its anonymous callers (docs/listeners.md); ends with '/'
  std::string address = "127.0.0.1:8000";  // host:port, :port, or unix:/path
  std::string path = "/mcp";               // without a trailing slash, except "/" itself
  SocketAccess socket;
  ListenTls tls;
  std::vector<std::string> trusted_proxies;  // as net::Networks parses them
  ClientHeader client_header = ClientHeader::either;
  ProxyProtocol proxy_protocol = ProxyProtocol::off;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  uint32_t max_connections = 10000;
  bool http2 = true;                  // beside HTTP/1.1: by ALPN, or without TLS by its preface
  uint32_t max_streams = 128;         // of an HTTP/2 connection; each counts as a connection too
  milliseconds head_timeout = 10s;    // a whole request head, from its first byte
  milliseconds read_timeout = 30s;    // a whole request body
  milliseconds write_timeout = 30s;   // without write progress towards a client
  milliseconds idle_timeout = 11min;  // a keep-alive connection with nothing in flight
  milliseconds keep_alive = 5s;       // SSE comment on a quiet stream
  uint64_t max_body_bytes = 8ull << 20;
  uint32_t max_head_bytes = 32 * 1024;
  uint32_t max_fields = 100;
  uint32_t max_depth = 128;
  bool legacy_sse = false;           // /sse and /messages for clients of 2024-11-05
  bool probe = true;                 // answers `lineward/probe` (docs/doctor.md)
  uint32_t max_sessions = 10000;     // legacy sessions
  milliseconds session_idle = 1h;    // a legacy session with no stream and no call
  milliseconds resume_window = 10s;  // a legacy stream that carried an event id stays resumable this long
  uint64_t max_stream_backlog_bytes = 256 * 1024;  // queued behind the message being written to a slow reader
  // Limits of the whole process (docs/limits.md); 0: no limit.
  uint64_t max_buffered_bytes = 512ull << 20;
  uint64_t max_buffered_bytes_per_principal = 0;  // 0: a quarter (config/shares.h)
  uint32_t max_principal_percent = 75;            // percent of sessions, processes and queue places
  uint32_t max_in_flight = 10000;                 // calls of all clients to all servers; listens do not count
  uint32_t max_in_flight_per_principal = 0;
  uint32_t max_connections_per_address = 0;

  // The prefix of paths below `path`.
  std::string_view mount() const { return path == "/" ? std::string_view() : std::string_view(path); }
  // The path of a server below `path`.
  std::string below(std::string_view server) const {
    return std::string(mount()) + "/" + std::string(server);
  }
};

// A further listener (docs/listeners.md): as `listen`, with differences. Limits of the whole process are
// those of `listen`.
struct FurtherListen {
  std::string name;
  Listen listen;
  std::vector<std::string> servers;  // only these; empty: all, and all together
  bool authenticates = true;         // false: each caller is anonymous, whatever `auth` says
  Auth auth;                         // `given`: its own, instead of the gateway's
};

struct Shutdown {
  milliseconds delay = 0ms;
  milliseconds drain = 25s;
};

// Reaction to a stalled loop.
struct Watchdog {
  milliseconds warn = 100ms;
  milliseconds abort = 60s;  // 0: never
};

// Probes and metrics, read-only.
struct Ops {
  std::string address = "127.0.0.1:9464";  // or off
  bool given = false;                      // set explicitly: then a port in use is an error
};

// The admin API (docs/admin-api.md): the control socket of `lineward ps`, `cancel` and `status`, and TCP.
struct Admin {
  std::string address = "auto";  // auto, off, unix:/path, or host:port in addition to the automatic socket
  std::string token_file;        // tokens and their rights for TCP; empty: any local user may connect
  std::vector<std::string> allowed_hosts;  // host names accepted over TCP besides its address
  bool read_only = false;                  // no changes through the API
};

// Handling of calls when the audit log cannot be written.
enum class AuditError : uint8_t { proceed, refuse };

// A record of each call, refusal, operator action and reload, in a hash chain (docs/audit.md).
struct Audit {
  std::string path;                // empty: no audit log
  bool arguments = false;          // of calls, redacted
  uint64_t argument_bytes = 4096;  // maximum recorded of each
  std::string key_file;            // PEM, Ed25519: signs checkpoints; empty: none
  uint32_t checkpoint_records = 1000;
  milliseconds checkpoint_every = 1min;
  uint64_t max_file_bytes = 64ull << 20;
  uint32_t keep_files = 30;  // full files; 0: all
  uint64_t max_waiting_bytes = 16ull << 20;
  AuditError on_error = AuditError::proceed;
  bool operator==(const Audit&) const = default;
};

// Automatic reload of the file (docs/reload.md).
struct Reload {
  bool watch = false;
};

enum class PrefixMode : uint8_t { always, on_conflict, never };

// All servers together at one path (docs/many-servers.md).
struct Aggregate {
  bool enabled = true;  // needs at least two servers
  std::string path;     // empty: listen.path
  std::string prefix = "{server}__";
  PrefixMode prefix_mode = PrefixMode::always;
  milliseconds part_timeout = 10s;       // maximum wait for one server in a merged list
  uint32_t max_items = 10000;            // of one server on one page of a merged list
  uint64_t max_part_bytes = 8ull << 20;  // of one server's answer for a merged list or discover
  ServerWorkers workers = ServerWorkers::all;
};

// Several processes that serve the same sessions (docs/replicas.md).
struct Replicas {
  std::string key_file;                                    // empty: no replicas. Its content is a secret
  std::string name;                                        // of this replica
  std::vector<std::pair<std::string, std::string>> peers;  // name → url; the entry of this replica is ignored
  std::string peers_from;  // a URL: the addresses of its host are the peers, each named by its address
  std::string ca_file;     // PEM; empty: the system's authorities
  milliseconds session_lifetime = 24h;
};

// How a rate limit refuses a request of a legacy session: in HTTP 200, or by the HTTP status.
enum class LegacyStatus : uint8_t { rpc, http };

struct Errors {
  LegacyStatus legacy_status = LegacyStatus::rpc;
};

enum class LogFormat : uint8_t { automatic, text, logfmt, json };
enum class LogLevel : uint8_t { debug, info, warn, error };

struct Log {
  LogFormat format = LogFormat::automatic;
  LogLevel level = LogLevel::info;
};

struct Config {
  uint32_t workers = 1;  // threads; 0: as many as there are processors
  Listen listen;
  std::vector<FurtherListen> listeners;  // in the order of the file
  Shutdown shutdown;
  Watchdog watchdog;
  Ops ops;
  Admin admin;
  Audit audit;
  Reload reload;
  Aggregate aggregate;
  Replicas replicas;
  Log log;
  Errors errors;
  Auth auth;
  std::vector<PluginEntry> plugins;  // in the order in which they see a client's message
  std::vector<std::string> include;  // globs of further files with servers (config/reader/include.h)
  std::vector<std::string> include_directories;  // of these globs, to be watched
  std::vector<Server> servers;                   // in the order of the file, then those of included files
  // Values of ${env:} and ${file:} anywhere in the file; no text may show them (config/secrets.h).
  std::vector<std::string> given_secrets;
  Server aggregate_server;  // the aggregate as a server, from `defaults`; its name is the path
};

}  // namespace lineward::config

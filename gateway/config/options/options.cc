#include "config/options/options.h"

#include <algorithm>
#include <array>

#include "config/forward_rules.h"
#include "config/options/names.h"
#include "config/options/option_groups.h"
#include "config/options/option_row.h"
#include "config/options/read_value.h"
#include "foundation/base/own_host.h"
#include "foundation/json/json_case.h"

namespace lineward::config {
namespace {

using namespace rows;

std::string_view check_address(const Value& value) {
  return address_fault(value.text);
}

std::string_view check_roots(const Value& value) {
  for (const std::string& root : value.list) {
    if (root.rfind("file://", 0) != 0) return "roots are file:// URIs, such as file:///srv/data";
  }
  return {};
}

std::string_view check_meta(const Value& value) {
  if (value.map.size() > 32) return "at most 32 members can be named";
  for (const auto& [name, text] : value.map) {
    if (name.size() > 128) return "a member's name has at most 128 characters";
    const bool plain = std::all_of(name.begin(), name.end(),
                                   [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (!plain) return "a member's name is made of printable ASCII without quotes";
    static constexpr std::array<std::string_view, 4> kTaken{"progressToken", "traceparent", "tracestate",
                                                            "baggage"};
    static constexpr std::array<std::string_view, 2> kPrefixes{"io.modelcontextprotocol/", "io.lineward/"};
    const std::string_view key = name;
    // Some decoders ignore case.
    const bool is_taken = std::any_of(kTaken.begin(), kTaken.end(), [key](std::string_view taken) {
      return json::differs_in_case_alone(key, taken);
    });
    const bool has_prefix = std::any_of(kPrefixes.begin(), kPrefixes.end(), [key](std::string_view prefix) {
      return json::differs_in_case_alone(key.substr(0, prefix.size()), prefix);
    });
    if (is_taken || has_prefix)
      return "this member has a meaning in MCP or for Lineward; choose another name, such as "
             "com.example/user";
  }
  return {};
}

std::string_view check_retry(const Value& value) {
  for (const std::string& one : value.list) {
    if (one != "connect" && one != "reset" && one != "unavailable")
      return "retry.on takes connect, reset and unavailable";
  }
  return {};
}

std::string_view check_command(const Value& value) {
  return value.text.empty() ? "the command is empty" : std::string_view();
}

// Credentials are sent over TLS, or within this machine only.
std::string_view check_https(const Value& value) {
  std::string_view text = value.text;
  const bool local = text.substr(0, 7) == "http://" && is_own_host(host_of_url(text));
  if (text.empty() || local || text.substr(0, 8) == "https://") return {};
  return "an authorization server is at https://";
}

// The connecting code checks the rest of a URL.
std::string_view check_names(const Value& value) {
  for (const std::string& name : value.list) {
    if (name.empty() || name.find_first_of("= \t\n") != std::string::npos)
      return "a variable has a name without = and blanks";
    if (name.substr(0, 9) == "LINEWARD_") return "LINEWARD_* is never passed on";
  }
  return {};
}

std::string_view check_url(const Value& value) {
  std::string_view text = value.text;
  if (text.empty()) return {};
  bool known =
      text.substr(0, 7) == "http://" || text.substr(0, 8) == "https://" || text.substr(0, 6) == "unix:/";
  if (!known) return "a url begins with http://, https:// or unix:/";
  for (char c : text) {
    if (c <= ' ' || c >= 0x7f || c == '#') return "a url holds no space, no # and nothing but ASCII";
  }
  if (text.substr(0, text.find_first_of("/?", 8)).find('@') != std::string_view::npos) {
    return "a url holds no user; put credentials into headers: Authorization";
  }
  return {};
}

// The connecting code checks the rest. No error may quote the value: it may hold a password.
std::string_view check_proxy(const Value& value) {
  std::string_view text = value.text;
  if (text.empty() || text == "none") return {};
  size_t scheme = text.find("://");
  if (scheme != std::string_view::npos && text.substr(0, scheme) != "http")
    return "a proxy is http://host:port, or none";
  for (char c : text) {
    if (c <= ' ' || c >= 0x7f) return "the URL of a proxy holds no space and nothing but ASCII";
  }
  return {};
}

std::string_view check_mode(const Value& value) {
  const std::string_view text = value.text;
  const bool octal = text.size() >= 3 && text.size() <= 4 &&
                     text.find_first_not_of("01234567") == std::string_view::npos &&
                     (text.size() == 3 || text.front() == '0');
  return text.empty() || octal ? std::string_view() : "a mode is three octal digits, such as 0660";
}

void listen_rows(std::vector<Option>& rows) {
  using L = Listen;
  constexpr auto k = &Config::listen;
  rows.push_back(row<k, &L::address>(
      "listen.address", Kind::text, "127.0.0.1:8000", {},
      "The address for clients: host:port, :port (every interface) or unix:/path.", check_address));
  rows.push_back(row<k, &L::path>(
      "listen.path", Kind::text, "/mcp", {},
      "The MCP path; several servers are below it by name: /mcp/<name> (path /: /<name>).", path_fault));
  constexpr auto socket = &L::socket;
  rows.push_back(row<k, socket, &SocketAccess::mode>(
      "listen.socket.mode", Kind::text, "", {},
      "The mode of a unix: address, such as 0660 for its owner (6), group (6), others (0). Empty: 0600.",
      check_mode));
  rows.push_back(row<k, socket, &SocketAccess::owner>(
      "listen.socket.owner", Kind::text, "", {},
      "The user that a unix: address belongs to, by name or number. Only root may give it away."));
  rows.push_back(row<k, socket, &SocketAccess::group>(
      "listen.socket.group", Kind::text, "", {},
      "The group of a unix: address, by name or number: one that Lineward's user is in."));
  add_tls_rows(rows);
  rows.push_back(row<k, &L::trusted_proxies>(
      "listen.trustedProxies", Kind::list, "", {},
      "Proxies in front, as networks (10.0.0.0/8), addresses, or unix (a Unix socket). The client's address "
      "is taken from their Forwarded or X-Forwarded-For header, or from listen.proxyProtocol."));
  rows.push_back(choice<k, &L::client_header>(
      "listen.clientHeader", "either|Forwarded|X-Forwarded-For", "either",
      "The header into which trusted proxies write the client's address. either: the one that is present; if "
      "both are present and differ, neither is used."));
  rows.push_back(choice<k, &L::proxy_protocol>(
      "listen.proxyProtocol", "off|trusted|required", "off",
      "trusted: connections of trusted proxies begin with a PROXY header, version 1 or 2. required: the "
      "same, and all other connections are closed."));
  rows.push_back(row<k, &L::allowed_hosts>(
      "listen.allowedHosts", Kind::list, "", {},
      "Host names that clients may use, besides the address itself and localhost."));
  rows.push_back(
      row<k, &L::allowed_origins>("listen.allowedOrigins", Kind::list, "", {},
                                  "Origins of web pages that may call; any other Origin is refused."));
  rows.push_back(row<k, &L::max_connections>(
      "listen.maxConnections", Kind::count, "10000", {1, kMillion},
      "The largest number of client connections. Each HTTP/2 stream counts as one more."));
  rows.push_back(row<k, &L::http2>("listen.http2", Kind::flag, "true", {},
                                   "Use HTTP/2 with clients that request it, besides HTTP/1.1."));
  rows.push_back(row<k, &L::max_streams>(
      "listen.maxStreamsPerConnection", Kind::count, "128", {1, 10000},
      "The largest number of open streams (calls and event streams) of one HTTP/2 connection."));
  rows.push_back(row<k, &L::head_timeout>("listen.headTimeout", Kind::duration, "10s", {10, kHour},
                                          "The time for a whole request head, from its first byte."));
  rows.push_back(row<k, &L::read_timeout>("listen.readTimeout", Kind::duration, "30s", {10, kDay},
                                          "The time for a whole request body."));
  rows.push_back(row<k, &L::write_timeout>(
      "listen.writeTimeout", Kind::duration, "30s", {10, kDay},
      "If a client reads nothing of its answer for this long, its connection is closed."));
  rows.push_back(row<k, &L::idle_timeout>(
      "listen.idleTimeout", Kind::duration, "11m", {10, kDay},
      "How long an idle client connection is kept. It should be longer than proxies keep theirs (Caddy 2 "
      "min, some balancers 10 min). Otherwise a proxy may send a request on a closed connection."));
  rows.push_back(row<k, &L::keep_alive>(
      "listen.keepAlive", Kind::duration, "5s", {100, kHour},
      "An event stream without data for this long gets a comment, so that no proxy closes it. A client that "
      "acknowledges nothing for nine times as long counts as disconnected."));
  rows.push_back(row<k, &L::max_body_bytes>("listen.maxBodyBytes", Kind::size, "8MiB", {kKiB, kGiB},
                                            "The largest request body."));
  rows.push_back(row<k, &L::max_head_bytes>("listen.maxHeadBytes", Kind::size, "32KiB", {kKiB, kMiB},
                                            "The largest request head."));
  rows.push_back(row<k, &L::max_fields>("listen.maxFields", Kind::count, "100", {8, 10000},
                                        "The largest number of header fields in a request."));
  rows.push_back(row<k, &L::max_depth>("listen.maxDepth", Kind::count, "128", {8, 1024},
                                       "How deep JSON may be nested."));
  rows.push_back(row<k, &L::legacy_sse>(
      "listen.legacySse", Kind::flag, "false", {},
      "HTTP+SSE of 2024-11-05 for clients: /sse and /messages; several servers: /sse/<name>."));
  rows.push_back(row<k, &L::probe>("listen.probe", Kind::flag, "true", {},
                                   "Answer lineward/probe, with which `lineward doctor URL` tests the "
                                   "proxies in front. Callers need the same permissions as for a call."));
  rows.push_back(row<k, &L::max_sessions>("listen.maxSessions", Kind::count, "10000", {1, kMillion},
                                          "The largest number of legacy sessions."));
  rows.push_back(
      row<k, &L::session_idle>("listen.sessionIdle", Kind::duration, "1h", {kSecond, 30 * kDay},
                               "A legacy session that had no stream and no call for this long ends."));
  rows.push_back(row<k, &L::resume_window>(
      "listen.resumeWindow", Kind::duration, "10s", {0, kHour},
      "How long a client may resume a legacy stream that was cut, if an event id was sent on it."));
  rows.push_back(row<k, &L::max_stream_backlog_bytes>(
      "listen.maxStreamBacklogBytes", Kind::size, "256KiB", {4 * kKiB, kGiB},
      "Bytes that may wait behind the message being written to a slow reader."));
  add_listen_limits(rows);
}

std::string_view check_ops(const Value& value) {
  if (value.text == "off") return {};
  const std::string_view fault = socket_fault(value.text);
  return fault == kSocketShape ? "write host:port, :port, unix:/path or off" : fault;
}

std::string_view check_admin(const Value& value) {
  const std::string& text = value.text;
  if (text == "auto" || text == "off") return {};
  return socket_fault(text).empty() ? std::string_view() : "write unix:/path, host:port, auto or off";
}

void gateway_rows(std::vector<Option>& rows) {
  rows.push_back(row<&Config::ops, &Ops::address>(
      "ops.address", Kind::text, "127.0.0.1:9464", {},
      "Probes and metrics (/livez, /readyz, /metrics), read-only: host:port, unix:/path or off.", check_ops));
  rows.back().set = [](Config& config, Server&, const Value& value) {
    config.ops.address = value.text;
    config.ops.given = true;
  };
  rows.push_back(row<&Config::admin, &Admin::address>(
      "admin.address", Kind::text, "auto", {},
      "The address of the admin API, which lineward ps, cancel and status use: unix:/path, or off. With "
      "auto: a socket in $XDG_RUNTIME_DIR/lineward, /run/lineward or /tmp/lineward-UID. With host:port: this "
      "address, and that socket too.",
      check_admin));
  rows.push_back(row<&Config::admin, &Admin::token_file>(
      "admin.tokenFile", Kind::text, "", {},
      "A file with the tokens of the admin API over TCP: lines `read TOKEN` and `operate TOKEN`. It is read "
      "again for each request. Without it admin.address has to be an address of this machine."));
  rows.push_back(row<&Config::admin, &Admin::allowed_hosts>(
      "admin.allowedHosts", Kind::list, "", {},
      "Host names by which the admin API is reached over TCP, besides addresses and localhost."));
  rows.push_back(row<&Config::admin, &Admin::read_only>(
      "admin.readOnly", Kind::flag, "false", {},
      "The admin API changes nothing for any caller: no cancel, no reload, no server control."));
  rows.push_back(row<&Config::shutdown, &Shutdown::delay>(
      "shutdown.delay", Kind::duration, "0s", {0, kHour},
      "How long requests are still accepted after the stop signal. /readyz fails already in this time, so "
      "that load balancers notice."));
  rows.push_back(row<&Config::shutdown, &Shutdown::drain>(
      "shutdown.drain", Kind::duration, "25s", {0, kDay},
      "How long calls in flight may continue after shutdown.delay."));
  rows.push_back(count_or_word<&Config::workers>(
      "workers", "auto", "1", {1, 64},
      "The number of threads that serve clients. A stdio server runs on one of them; a server over HTTP is "
      "used by all. With auto: one for each processor that Lineward may use (docs/workers.md)."));
  rows.push_back(row<&Config::include>("include", Kind::list, "", {},
                                       "Further files with mcpServers and nothing else: globs such as "
                                       "servers.d/*.yaml, relative to this file. "
                                       "lineward server add writes one of them (docs/servers.md)."));
  rows.push_back(row<&Config::reload, &Reload::watch>(
      "reload.watch", Kind::flag, "false", {},
      "Read the configuration file again when it changes (also run --watch); SIGHUP always does."));
  rows.push_back(
      row<&Config::watchdog, &Watchdog::warn>("watchdog.warn", Kind::duration, "100ms", {50, kHour},
                                              "An event loop that reads and writes nothing for this long "
                                              "although work waits is reported in the log, with a stack."));
  rows.push_back(row<&Config::watchdog, &Watchdog::abort>(
      "watchdog.abort", Kind::duration, "60s", {0, kHour},
      "After this long, the process ends with a stack, so that its supervisor starts it again. Time in which "
      "no processor was free for the loop does not count. 0s: never."));
  rows.push_back(choice<&Config::log, &Log::format>(
      "log.format", "auto|text|logfmt|json", "auto",
      "auto: text on a terminal, else logfmt. The log is always written to stderr."));
  rows.push_back(choice<&Config::log, &Log::level>("log.level", "debug|info|warn|error", "info",
                                                   "The lowest level of lines that are written."));
  rows.push_back(choice<&Config::errors, &Errors::legacy_status>(
      "errors.legacyStatus", "rpc|http", "rpc",
      "How a rate limit refuses a request in a legacy session. rpc: a JSON-RPC error in HTTP 200 with "
      "Retry-After. http: HTTP 429, after which some clients end the whole session."));
}

void server_rows(std::vector<Option>& rows) {
  using S = Server;
  rows.push_back(choice<&S::type>("mcpServers.*.type", "auto|stdio|http|sse", "auto",
                                  "auto: a command is stdio; a url is http (Streamable HTTP), then sse."));
  rows.push_back(row<&S::command>("mcpServers.*.command", Kind::text, "", {},
                                  "The program, started without a shell: signals reach the real process.",
                                  check_command));
  rows.push_back(
      row<&S::args>("mcpServers.*.args", Kind::list, "", {}, "The arguments of the command, one by one."));
  rows.push_back(row<&S::env>("mcpServers.*.env", Kind::map, "", {},
                              "Environment variables, added last. ${env:NAME}, ${NAME:-default} and "
                              "${file:/path} are replaced. If a process belongs to one caller, "
                              "${principal.subject} and the like are replaced too (docs/identity.md)."));
  rows.push_back(row<&S::env_file>(
      "mcpServers.*.envFile", Kind::text, "", {},
      "A file of NAME=value lines, which `env` overrides. Its path is relative to the configuration."));
  rows.push_back(row<&S::cwd>("mcpServers.*.cwd", Kind::text, "", {}, "The server's working directory."));
  rows.push_back(
      row<&S::inherit_env>("mcpServers.*.inheritEnv", Kind::names, "", {},
                           "The part of Lineward's own environment that the server gets. A list: these "
                           "variables, PATH HOME USER LOGNAME SHELL LANG LC_* TZ TERM TMPDIR, and those of "
                           "proxies. With true: all variables except those that ${env:NAME} gives to other "
                           "servers. With false: only PATH HOME LANG TZ TMPDIR. A command after -- gets all.",
                           check_names));
  rows.push_back(row<&S::url>("mcpServers.*.url", Kind::text, "", {},
                              "A server over Streamable HTTP: http://…, https://… or unix:/socket[:/path].",
                              check_url));
  rows.push_back(row<&S::headers>("mcpServers.*.headers", Kind::map, "", {},
                                  "HTTP: headers of every request to the server. ${env:NAME} and "
                                  "${file:/path} are replaced. ${principal.subject}, ${claim:NAME} and the "
                                  "like are replaced by the caller's values (docs/identity.md).",
                                  headers_fault));
  rows.push_back(row<&S::identity, &Identity::meta>(
      "mcpServers.*.meta", Kind::map, "", {},
      "Members of params._meta that are set in each client request to the server, instead of the client's "
      "own members of these names. Values as in headers.",
      check_meta));
  rows.push_back(row<&S::forward_headers>(
      "mcpServers.*.forwardHeaders", Kind::list, "", {},
      "HTTP: client headers that are forwarded to the server, by name or glob (X-*).",
      [](const Value& value) { return forward_fault(value.list); }));
  rows.push_back(row<&S::ca_file>("mcpServers.*.caFile", Kind::text, "", {},
                                  "HTTPS: authorities to trust instead of the system's, PEM."));
  rows.push_back(
      row<&S::client_cert>("mcpServers.*.clientCert", Kind::text, "", {},
                           "HTTPS: Lineward's client certificate for the server, PEM with its chain."));
  rows.push_back(row<&S::client_key>(
      "mcpServers.*.clientKey", Kind::text, "", {},
      "HTTPS: the key of clientCert, PEM; not needed if the file of clientCert contains it."));
  constexpr auto c = &S::credentials;
  using C = ClientCredentials;
  rows.push_back(row<c, &C::client_id>("mcpServers.*.clientCredentials.clientId", Kind::text, "", {},
                                       "HTTP: Lineward's client id at the authorization server (OAuth)."));
  rows.push_back(row<c, &C::client_secret>("mcpServers.*.clientCredentials.clientSecret", Kind::text, "", {},
                                           "The secret of this client; write ${env:NAME} or ${file:/path}."));
  rows.push_back(row<c, &C::private_key>("mcpServers.*.clientCredentials.privateKey", Kind::text, "", {},
                                         "Instead of a secret: a PEM key that signs (private_key_jwt)."));
  rows.push_back(choice<c, &C::algorithm>("mcpServers.*.clientCredentials.algorithm",
                                          "ES256|ES384|ES512|RS256|RS384|RS512", "ES256",
                                          "The algorithm of that key."));
  rows.push_back(row<c, &C::issuer>(
      "mcpServers.*.clientCredentials.issuer", Kind::text, "", {},
      "The authorization server that issued the id and the secret; no other server gets them.", check_https));
  rows.push_back(row<c, &C::token_url>(
      "mcpServers.*.clientCredentials.tokenUrl", Kind::text, "", {},
      "The token endpoint of that server, if it has no metadata to discover.", check_https));
  rows.push_back(row<c, &C::scope>("mcpServers.*.clientCredentials.scope", Kind::text, "", {},
                                   "Scopes to request, instead of those that the MCP server requires."));
  rows.push_back(row<&S::proxy>("mcpServers.*.proxy", Kind::text, "", {},
                                "HTTP: the proxy to the server, http://[user:password@]host:port, or none. "
                                "Empty: HTTPS_PROXY, http_proxy and NO_PROXY decide.",
                                check_proxy));
  rows.push_back(choice<&S::http2>(
      "mcpServers.*.http2", "auto|on|off", "auto",
      "HTTP/2 to the server. auto: if the server agrees by ALPN (https). on: always, also without TLS."));
  rows.push_back(choice<&S::protocol_era>(
      "mcpServers.*.protocolEra", "auto|legacy|modern", "auto",
      "The era of MCP that the server uses. auto: Lineward tries server/discover, then initialize."));
  rows.push_back(
      choice<&S::start>("mcpServers.*.start", "boot|onUse", "boot",
                        "onUse: it is not probed with Lineward; a client's first message starts it "
                        "or connects to it (docs/quick-starts.md)."));
  constexpr auto m = &S::remember;
  rows.push_back(choice<m, &Remember::lists>(
      "mcpServers.*.remember.lists", "auto|on|off", "auto",
      "stdio: its answers to discover, initialize and lists are kept on disk, and answer clients while it "
      "starts in the next life. auto: with start: onUse."));
  rows.push_back(row<m, &Remember::directory>(
      "mcpServers.*.remember.directory", Kind::text, "", {},
      "stdio: the directory for them, mode 0700. Default: memory in $STATE_DIRECTORY, or lineward/memory in "
      "$XDG_STATE_HOME (~/.local/state)."));
  rows.push_back(row<m, &Remember::max_bytes>("mcpServers.*.remember.maxBytes", Kind::size, "4MiB",
                                              {1024, 256 * kMiB},
                                              "stdio: the largest such file; the answer used least recently "
                                              "goes first."));
  rows.push_back(choice<&S::isolation>(
      "mcpServers.*.isolation", "auto|shared|session|principal|call", "auto",
      "Which callers share one process, or one session with the server (docs/isolation.md)."));
  rows.push_back(choice<&S::workers>("mcpServers.*.workers", "all|one", "all",
                                     "HTTP: one: a single worker uses the server. This is required if "
                                     "sessions of one caller depend on one another."));
  rows.push_back(choice<&S::missing_session>("mcpServers.*.sessions.missing", "adopt|refuse", "adopt",
                                             "Legacy requests without Mcp-Session-Id. adopt: one session for "
                                             "each principal or connection. refuse: 400."));
  rows.push_back(row<&S::reclaim_after>("mcpServers.*.sessions.reclaimAfter", Kind::duration, "1m",
                                        {0, 30 * kDay},
                                        "When no process is free, a legacy session without a call, a stream "
                                        "and traffic for this long loses its process. Its next request gets "
                                        "a new one."));
  rows.push_back(row<&S::instances>("mcpServers.*.instances", Kind::count, "64", {1, 10000},
                                    "The largest number of processes; over HTTP, of sessions for calls that "
                                    "allow requests of the server."));
  rows.push_back(row<&S::instance_idle>("mcpServers.*.instanceIdle", Kind::duration, "10m",
                                        {kSecond, 30 * kDay}, "A process unused for this long is stopped."));
  rows.push_back(row<&S::session_abandoned>(
      "mcpServers.*.sessionAbandoned", Kind::duration, "1m", {0, 30 * kDay},
      "A legacy session loses its process this long after its client closed its last connection, if it never "
      "had a GET stream. Its next request gets a new one. 0s: never."));
  rows.push_back(choice<&S::cancel>("mcpServers.*.cancel", "send|never|kill", "send",
                                    "never: no cancel is sent, for a server that crashes at cancels. The "
                                    "HTTP stream of a call then stays open, at most for maxDuration. kill: a "
                                    "process that ignores a cancel for longer than cancelGrace is ended."));
  rows.push_back(choice<&S::stdout_mode>(
      "mcpServers.*.stdout", "tolerant|strict", "tolerant",
      "tolerant: lines that are not MCP messages are only logged. strict: such a line ends the process."));
  rows.push_back(row<&S::roots>(
      "mcpServers.*.roots", Kind::list, "", {},
      "file:// URIs with which Lineward answers roots/list if no client session answers it.", check_roots));
  rows.push_back(row<&S::required>("mcpServers.*.required", Kind::flag, "false", {},
                                   "The gateway is ready only when this server is ready."));
  rows.push_back(row<&S::disabled>("mcpServers.*.disabled", Kind::flag, "false", {},
                                   "The server is kept in the file, but never started."));
}

void inherited_rows(std::vector<Option>& rows) {
  constexpr auto t = &Server::timeouts;
  constexpr auto l = &Server::limits;
  rows.push_back(row<t, &Timeouts::connect>(
      "mcpServers.*.timeouts.connect", Kind::duration, "5s", {10, kHour},
      "HTTP: the time to connect to the server: look-up, every address, proxy and TLS handshake together."));
  rows.push_back(row<t, &Timeouts::startup>("mcpServers.*.timeouts.startup", Kind::duration, "60s",
                                            {10, kDay},
                                            "The time from the server's start until its first answer."));
  rows.push_back(row<t, &Timeouts::request>(
      "mcpServers.*.timeouts.request", Kind::duration, "60s", {1, 30 * kDay},
      "A call ends with an error after this long without an answer and without progress."));
  rows.push_back(row<t, &Timeouts::max_duration>(
      "mcpServers.*.timeouts.maxDuration", Kind::duration, "10m", {1, 30 * kDay},
      "The longest duration of a call; progress does not restart it."));
  rows.push_back(row<t, &Timeouts::acknowledge>(
      "mcpServers.*.timeouts.acknowledge", Kind::duration, "5s", {10, kHour},
      "The time for a server to acknowledge a listen; URIs that are not granted by then are left out."));
  rows.push_back(
      row<t, &Timeouts::park>("mcpServers.*.timeouts.park", Kind::duration, "10m", {kSecond, 30 * kDay},
                              "How long a question of the server may wait for the client's answer."));
  rows.push_back(row<t, &Timeouts::question_batch>(
      "mcpServers.*.timeouts.questionBatch", Kind::duration, "5ms", {0, kMinute},
      "Questions that a server asks within this time are sent to the client together."));
  rows.push_back(row<t, &Timeouts::cancel_grace>(
      "mcpServers.*.timeouts.cancelGrace", Kind::duration, "5s", {0, kHour},
      "How long the server may still answer a cancelled call before it counts as ignoring the cancel. For as "
      "long after a call's end, a message of the server that names no call may belong to that call."));
  rows.push_back(row<t, &Timeouts::progress_resets>("mcpServers.*.timeouts.progressResets", Kind::flag,
                                                    "true", {},
                                                    "A progress notification restarts `request`."));
  rows.push_back(row<l, &Limits::max_in_flight>(
      "mcpServers.*.limits.maxInFlight", Kind::count, "64", {1, 100000},
      "The largest number of calls under way; listens and parked calls do not count."));
  rows.push_back(row<l, &Limits::max_queue>("mcpServers.*.limits.maxQueue", Kind::count, "256", {0, kMillion},
                                            "The largest number of calls that wait for a slot."));
  rows.push_back(row<l, &Limits::queue_timeout>("mcpServers.*.limits.queueTimeout", Kind::duration, "10s",
                                                {0, kDay}, "How long a call may wait for a slot."));
  rows.push_back(row<l, &Limits::max_parked>(
      "mcpServers.*.limits.maxParked", Kind::count, "256", {1, kMillion},
      "The largest number of parked calls: they wait for their client's answer to a question."));
  rows.push_back(row<l, &Limits::max_parked_per_caller>(
      "mcpServers.*.limits.maxParkedPerCaller", Kind::count, "8", {0, kMillion},
      "If a caller has more parked calls than this and another caller waits for a process, the oldest of "
      "these calls end."));
  rows.push_back(row<l, &Limits::max_parked_bytes>(
      "mcpServers.*.limits.maxParkedBytes", Kind::size, "16MiB", {kKiB, kGiB},
      "The largest number of bytes kept for parked calls: questions and results."));
  rows.push_back(row<l, &Limits::max_message_bytes>("mcpServers.*.limits.maxMessageBytes", Kind::size,
                                                    "32MiB", {kKiB, 2 * kGiB},
                                                    "The largest message from the server."));
  rows.push_back(row<l, &Limits::max_list_bytes>(
      "mcpServers.*.limits.maxListBytes", Kind::size, "4MiB", {256 * kKiB, kGiB},
      "The largest list in an answer, and the largest other part that Lineward reads item by item (long "
      "texts do not count)."));
  rows.push_back(
      row<l, &Limits::max_request_bytes>("mcpServers.*.limits.maxRequestBytes", Kind::size, "0", {0, kGiB},
                                         "The largest HTTP body of a client's request to this server. 0: "
                                         "listen.maxBodyBytes, which this limit cannot exceed."));
  rows.push_back(row<l, &Limits::max_connections>("mcpServers.*.limits.maxConnections", Kind::count, "10000",
                                                  {1, kMillion},
                                                  "HTTP: the largest number of connections to the server, "
                                                  "streams and idle ones included; further calls wait."));
  rows.push_back(row<l, &Limits::idle_connections>(
      "mcpServers.*.limits.idleConnections", Kind::count, "64", {0, 10000},
      "HTTP: the number of idle connections that are kept open for later requests."));
  rows.push_back(row<l, &Limits::idle_timeout>(
      "mcpServers.*.limits.idleTimeout", Kind::duration, "4s", {0, kHour},
      "HTTP: how long an idle connection is kept, if the server sends no Keep-Alive: timeout=."));
  rows.push_back(row<l, &Limits::max_head_bytes>("mcpServers.*.limits.maxHeadBytes", Kind::size, "64KiB",
                                                 {kKiB, kMiB}, "HTTP: the largest response head."));
  rows.push_back(row<l, &Limits::max_sessions>("mcpServers.*.limits.maxSessions", Kind::count, "10000",
                                               {1, kMillion},
                                               "HTTP: the largest number of legacy sessions with the server, "
                                               "those of clients and of Lineward together."));
  rows.push_back(row<l, &Limits::max_gateway_sessions>(
      "mcpServers.*.limits.maxGatewaySessions", Kind::count, "1000", {1, kMillion},
      "HTTP: the largest number of these that Lineward opens for clients without sessions; a new one "
      "replaces an idle one."));
  rows.push_back(row<&Server::restart, &Restart::backoff>(
      "mcpServers.*.restart.backoff", Kind::duration, "200ms", {1, kHour},
      "The pause before the server is started again after a failure; it doubles each time."));
  rows.push_back(row<&Server::restart, &Restart::max_backoff>(
      "mcpServers.*.restart.maxBackoff", Kind::duration, "30s", {1, kDay}, "The longest such pause."));
  add_server_limits(rows);
  constexpr auto r = &Server::retry;
  rows.push_back(row<r, &Retry::attempts>("mcpServers.*.retry.attempts", Kind::count, "1", {1, 5},
                                          "How often a call is tried in all. 1: no call is repeated."));
  rows.push_back(row<r, &Retry::on>("mcpServers.*.retry.on", Kind::list, "", {},
                                    "The failures after which a call is repeated. connect (default): nothing "
                                    "was sent. reset, unavailable: idempotent tools only.",
                                    check_retry));
  rows.push_back(row<r, &Retry::backoff>("mcpServers.*.retry.backoff", Kind::duration, "100ms", {1, kMinute},
                                         "The pause before a repeat; it doubles each time."));
  rows.push_back(row<r, &Retry::budget>("mcpServers.*.retry.budget", Kind::count, "20", {0, 100},
                                        "The largest number of repeats for each 100 calls."));
  rows.push_back(
      row<&Server::stop, &Stop::stdin_grace>("mcpServers.*.stop.stdinGrace", Kind::duration, "2s", {0, kHour},
                                             "The time from the end of the server's stdin to SIGTERM."));
  rows.push_back(row<&Server::stop, &Stop::term_grace>(
      "mcpServers.*.stop.termGrace", Kind::duration, "5s", {0, kHour},
      "The time from SIGTERM to SIGKILL; both go to the server's whole process group."));
}

std::vector<Option> all_rows() {
  std::vector<Option> rows;
  listen_rows(rows);
  gateway_rows(rows);
  add_aggregate_rows(rows);
  add_replica_rows(rows);
  add_audit_rows(rows);
  server_rows(rows);
  add_part_rows(rows);
  inherited_rows(rows);
  return rows;
}

}  // namespace

const std::vector<Option>& options() {
  static const std::vector<Option> table = all_rows();
  return table;
}

// ---- names and lookup ----

bool Option::per_server() const {
  return path.substr(0, kServerPrefix.size()) == kServerPrefix;
}

bool Option::inherited() const {
  return per_server() && (key().find('.') != std::string::npos || key() == "start");
}

std::string_view Option::leaf() const {
  return path.substr(path.rfind('.') + 1);
}

std::string Option::key() const {
  return std::string(per_server() ? path.substr(kServerPrefix.size()) : path);
}

std::string Option::env_name() const {
  if (per_server() || kind == Kind::list || kind == Kind::map || kind == Kind::names) return {};
  std::string name = "LINEWARD_";
  for (char c : path) {
    if (c >= 'A' && c <= 'Z') name += '_';
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

const Option* find_option(std::string_view path) {
  for (const Option& option : options()) {
    if (option.path == path) return &option;
  }
  return nullptr;
}

bool is_of_process(std::string_view option) {
  static constexpr std::array<std::string_view, 12> kOfProcess{"maxBufferedBytes",
                                                               "maxBufferedBytesPerPrincipal",
                                                               "maxPrincipalPercent",
                                                               "maxInFlight",
                                                               "maxInFlightPerPrincipal",
                                                               "maxSessions",
                                                               "sessionIdle",
                                                               "resumeWindow",
                                                               "maxStreamBacklogBytes",
                                                               "maxDepth",
                                                               "keepAlive",
                                                               "probe"};
  return std::find(kOfProcess.begin(), kOfProcess.end(), option) != kOfProcess.end();
}

bool is_group(std::string_view path) {
  return std::any_of(options().begin(), options().end(), [path](const Option& option) {
    return option.path.size() > path.size() && option.path.substr(0, path.size()) == path &&
           option.path[path.size()] == '.';
  });
}

std::vector<std::string_view> children(std::string_view group) {
  std::vector<std::string_view> names;
  size_t skip = group.empty() ? 0 : group.size() + 1;
  for (const Option& option : options()) {
    if (!group.empty() && (option.path.size() <= skip || option.path.substr(0, skip - 1) != group ||
                           option.path[skip - 1] != '.')) {
      continue;
    }
    std::string_view name = option.path.substr(skip);
    name = name.substr(0, name.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::duration: return "duration";
    case Kind::size: return "size";
    case Kind::count: return "number";
    case Kind::flag: return "true or false";
    case Kind::text: return "text";
    case Kind::list: return "list";
    case Kind::map: return "map";
    case Kind::choice: return "choice";
    case Kind::names: return "true, false or a list of names";
  }
  return "";
}

}  // namespace lineward::config

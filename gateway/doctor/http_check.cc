#include "doctor/http_check.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/freed.h"
#include "config/duration.h"
#include "http_client/http_proxy.h"
#include "http_client/http_url.h"
#include "log/printable.h"
#include "mcp/revision.h"
#include "mcp/rewrite.h"
#include "net/tls.h"
#include "process/spawn_wire.h"

namespace lineward::doctor {
namespace {

using net::spawning::OwnedFd;
using nlohmann::json;
using std::chrono::steady_clock;

constexpr size_t kMaxAnswer = 1 << 20;
constexpr int64_t kMuchSkew = 60;  // seconds; tokens are mostly checked with as much leeway

struct Step {
  std::string fault;  // empty: it went well
  std::string check;
  std::string fix;
};

class Line {
 public:
  Line(const upstream::HttpUrl& url, steady_clock::time_point until) : url_(url), until_(until) {}

  Step connect(const config::Server& server, const std::optional<upstream::HttpProxy>& proxy);
  // The whole answer's head, and what of its body came with it.
  Step exchange(const std::string& request, std::string& answer);

 private:
  Step connect_unix();
  Step connect_tcp(const std::string& host, uint16_t port, bool is_proxy);
  Step tunnel(const upstream::HttpProxy& proxy);
  Step handshake(const config::Server& server);
  bool wait(short what);
  // False at its end, at an error, and when the time is over.
  bool send_all(std::string_view bytes);
  bool receive(std::string& bytes);
  bool is_late() const { return steady_clock::now() >= until_; }

  const upstream::HttpUrl& url_;
  steady_clock::time_point until_;
  OwnedFd socket_;
  std::unique_ptr<net::TlsEngine> tls_;
};

bool Line::wait(short what) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd one{socket_.get(), what, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool Line::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return false;
    const ssize_t n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool Line::receive(std::string& bytes) {
  std::array<char, 16384> buffer;
  for (;;) {
    if (!wait(POLLIN)) return false;
    const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    bytes.append(buffer.data(), static_cast<size_t>(n));
    return true;
  }
}

Step Line::connect_unix() {
  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  if (url_.unix_path.size() >= sizeof path.sun_path)
    return {"its socket's path is too long", "connect", "use a shorter path"};
  memcpy(path.sun_path, url_.unix_path.data(), url_.unix_path.size());
  socket_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&path), sizeof path) == 0) return {};
  return {fmt::format("cannot connect to {}: {}", printable(url_.unix_path), strerror(errno)), "connect",
          "is the server running, and its socket yours to use?"};
}

Step Line::connect_tcp(const std::string& host, uint16_t port, bool is_proxy) {
  const char* what = is_proxy ? "the proxy " : "";
  // The resolver's own patience is half a minute.
  res_init();
  _res.retrans = 3;
  _res.retry = 1;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return {fmt::format("{}{} has no address: {}", what, printable(host), gai_strerror(error)),
            is_proxy ? "proxy" : "dns",
            is_proxy ? "correct the proxy (HTTPS_PROXY, HTTP_PROXY or proxy), or name the host in NO_PROXY"
                     : "is the name right? See /etc/resolv.conf and the network"};
  }
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> all(found);
  int why = ETIMEDOUT;
  for (const addrinfo* one = all.get(); one != nullptr && !is_late(); one = one->ai_next) {
    socket_.reset(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket_.get(), one->ai_addr, one->ai_addrlen) == 0) return {};
    why = errno;
    if (why != EINPROGRESS) continue;
    why = ETIMEDOUT;
    if (!wait(POLLOUT)) continue;
    socklen_t size = sizeof why;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &why, &size);
    if (why == 0) return {};
  }
  return {fmt::format("cannot connect to {}{}:{}: {}", what, printable(host), port, strerror(why)),
          is_proxy ? "proxy" : "connect",
          is_proxy ? "is the proxy running? Correct it, or name the host in NO_PROXY"
                   : "is the server running, and on this port?"};
}

Step Line::tunnel(const upstream::HttpProxy& proxy) {
  const std::string target = fmt::format("{}:{}", url_.host, url_.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
  if (!proxy.authorization.empty()) request += "Proxy-Authorization: " + proxy.authorization + "\r\n";
  std::string answer;
  bool sent = send_all(request + "\r\n");
  while (sent && answer.find("\r\n\r\n") == std::string::npos && answer.size() < kMaxAnswer &&
         receive(answer)) {
  }
  if (answer.rfind("HTTP/1.", 0) == 0 && answer.size() > 12 && answer[9] == '2') return {};
  const std::string said = printable(answer.substr(0, answer.find('\r')), 100);
  return {fmt::format("the proxy does not let through to {}: {}", printable(target),
                      said.empty() ? "no answer" : said),
          "proxy",
          said.find("407") != std::string::npos ? "proxy: http://user:password@host:port gives its password"
                                                : "name the host in NO_PROXY, or ask who runs the proxy"};
}

Step fix_of_tls(const std::string& fault) {
  auto says = [&](const char* words) { return fault.find(words) != std::string::npos; };
  std::string fix = "does it speak TLS on this port?";
  if (says("expired")) fix = "renew the server's certificate; or is this machine's clock wrong?";
  if (says("not yet valid")) fix = "is this machine's clock wrong?";
  if (says("issuer") || says("self-signed") || says("self signed"))
    fix = "caFile: /path/of/its/authority.pem, or renew the system's (ca-certificates)";
  if (says("mismatch")) fix = "use the name that its certificate is made out to in url";
  return {fault, "tls", fix};
}

Step Line::handshake(const config::Server& server) {
  auto context = net::TlsContext::for_client({server.ca_file, server.client_cert, server.client_key});
  if (!context) return {context.error().text, "tls", "correct caFile, clientCert or clientKey"};
  auto engine = net::TlsEngine::for_client(*context, url_.host);
  if (!engine) return {engine.error().text, "tls", "correct url"};
  tls_ = std::move(*engine);
  std::string plain;
  while (tls_->state() == net::TlsEngine::State::handshake) {
    if (!send_all(tls_->take_output())) return fix_of_tls("the TLS handshake was broken off");
    std::string wire;
    if (!receive(wire))
      return fix_of_tls(is_late() ? "the TLS handshake took too long" : "the TLS handshake was broken off");
    tls_->feed(wire, plain);
  }
  if (tls_->state() == net::TlsEngine::State::failed) return fix_of_tls(printable(tls_->fault(), 300));
  return {};
}

Step Line::connect(const config::Server& server, const std::optional<upstream::HttpProxy>& proxy) {
  if (!url_.unix_path.empty()) return connect_unix();
  Step step = proxy ? connect_tcp(proxy->host, proxy->port, true) : connect_tcp(url_.host, url_.port, false);
  if (step.fault.empty() && proxy && url_.tls) step = tunnel(*proxy);
  if (step.fault.empty() && url_.tls) step = handshake(server);
  return step;
}

Step Line::exchange(const std::string& request, std::string& answer) {
  bool sent = false;
  if (tls_) {
    tls_->write(request);
    sent = send_all(tls_->take_output());
  } else {
    sent = send_all(request);
  }
  while (sent && answer.size() < kMaxAnswer) {
    // A stream of events goes on; what is wanted of it comes first.
    const size_t end = answer.find("\r\n\r\n");
    if (end != std::string::npos && answer.find("\"jsonrpc\"", end) != std::string::npos &&
        answer.find('}', end) != std::string::npos) {
      // Wait for the rest that is already on its way, no longer.
      pollfd more{socket_.get(), POLLIN, 0};
      if (poll(&more, 1, 50) <= 0) break;
    }
    std::string wire;
    if (!receive(wire)) break;
    if (tls_) {
      tls_->feed(wire, answer);
    } else {
      answer += wire;
    }
  }
  if (answer.rfind("HTTP/1.", 0) == 0 && answer.find("\r\n\r\n") != std::string::npos) return {};
  if (answer.empty() && is_late())
    return {"it did not answer in time", "http", "--patience 1m waits longer; is it an HTTP server?"};
  return {"it did not answer as an HTTP server does", "http",
          url_.tls ? "is it an MCP server?" : "is it an MCP server, without TLS?"};
}

std::string header_of(const std::string& answer, std::string_view name) {
  const size_t head = answer.find("\r\n\r\n");
  for (size_t at = answer.find("\r\n"); at < head; at = answer.find("\r\n", at + 2)) {
    const size_t colon = answer.find(':', at + 2);
    if (colon == std::string::npos || colon > head || colon - at - 2 != name.size()) continue;
    if (!std::equal(name.begin(), name.end(), answer.begin() + static_cast<std::ptrdiff_t>(at + 2),
                    [](char a, char b) { return a == static_cast<char>(b >= 'A' && b <= 'Z' ? b + 32 : b); }))
      continue;
    const size_t begin = answer.find_first_not_of(" \t", colon + 1);
    return answer.substr(begin, answer.find("\r\n", begin) - begin);
  }
  return {};
}

std::string request_of(const config::Server& server, const upstream::HttpUrl& url, bool absolute,
                       const std::string& body, std::string_view version, std::string_view method) {
  std::string out = fmt::format(
      "POST {}{} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n",
      absolute ? "http://" + url.host_header : "", url.target, url.host_header, body.size());
  if (!version.empty()) out += fmt::format("MCP-Protocol-Version: {}\r\nMcp-Method: {}\r\n", version, method);
  for (const auto& [name, value] : server.headers)
    out += fmt::format("{}: {}\r\n", name, value);
  out += "\r\n";
  out += body;
  return out;
}

struct Asked {
  Step step;
  int status = 0;
  std::string answer;
  bool has_result() const { return status == 200 && answer.find("\"result\"") != std::string::npos; }
};

Asked ask_once(const config::Server& server, const upstream::HttpUrl& url,
               const std::optional<upstream::HttpProxy>& proxy, const std::string& body,
               std::string_view version, std::string_view method, steady_clock::time_point until) {
  Asked asked;
  Line line(url, until);
  asked.step = line.connect(server, proxy);
  if (!asked.step.fault.empty()) return asked;
  const bool absolute = proxy.has_value() && !url.tls;
  asked.step = line.exchange(request_of(server, url, absolute, body, version, method), asked.answer);
  if (asked.step.fault.empty())
    std::from_chars(asked.answer.data() + 9, asked.answer.data() + std::min<size_t>(12, asked.answer.size()),
                    asked.status);
  return asked;
}

// The session that initialize has opened is not kept.
void end_session(const config::Server& server, const upstream::HttpUrl& url,
                 const std::optional<upstream::HttpProxy>& proxy, const std::string& answer,
                 steady_clock::time_point until) {
  const std::string session = header_of(answer, "mcp-session-id");
  Line line(url, until);
  if (session.empty() || !line.connect(server, proxy).fault.empty()) return;
  std::string request = request_of(server, url, proxy.has_value() && !url.tls, "", {}, {});
  request.replace(0, 4, "DELETE");
  request.insert(request.find("\r\n") + 2, "Mcp-Session-Id: " + session + "\r\n");
  std::string said;
  line.exchange(request, said);
}

// What a status means where no MCP answer came.
Step fix_of_status(const Asked& asked, const config::Server& server) {
  const std::string text = fmt::format("it answers with HTTP {}", asked.status);
  switch (asked.status) {
    case 401:
      return {text, "auth",
              server.headers.empty() ? "headers: { Authorization: \"Bearer ${env:TOKEN}\" }, or credentials"
                                     : "the credentials in headers are not accepted: are they still valid?"};
    case 403:
      return {text, "auth", "these credentials may not do this, or the server refuses this Host or Origin"};
    case 404: return {text, "path", "is the path of url right? Mostly it is /mcp"};
    case 407: return {text, "proxy", "proxy: http://user:password@host:port gives the proxy its password"};
    case 301:
    case 302:
    case 307:
    case 308:
      return {fmt::format("{} to {}", text, printable(header_of(asked.answer, "location"), 200)), "path",
              "write that address as url, if it is the server's"};
    default:
      return {text, "http",
              asked.status >= 500 ? "see the server's own log"
                                  : "is it an MCP server (Streamable HTTP)? Lineward speaks HTTP+SSE too: "
                                    "lineward tools URL tells"};
  }
}

void look_at_clock(const std::string& answer, Findings& findings) {
  const std::string date = header_of(answer, "date");
  const int64_t skew = clock_skew(date, static_cast<int64_t>(time(nullptr)));
  if (skew > kMuchSkew || skew < -kMuchSkew) {
    findings.doubt(
        "clock",
        fmt::format("its clock is {} s {} this machine's: tokens may be refused as expired or not yet valid",
                    std::abs(skew), skew > 0 ? "ahead of" : "behind"),
        "set both clocks (timedatectl set-ntp true)");
  }
}

}  // namespace

int64_t clock_skew(const std::string& date, int64_t now) {
  tm parts{};
  if (date.empty() || strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return 0;
  return static_cast<int64_t>(timegm(&parts)) - now;
}

void check_http_server(const config::Server& server, std::chrono::milliseconds patience, Findings& findings) {
  auto url = upstream::parse_http_url(server.url);
  if (!url) return findings.fault("url", url.error().text, "write http://…, https://… or unix:/path");
  auto proxy = upstream::choose_proxy(*url, server.proxy, upstream::process_environment());
  if (!proxy)
    return findings.fault("proxy", proxy.error().text, "correct proxy, or HTTPS_PROXY and HTTP_PROXY");
  auto ask = [&](const std::string& body, std::string_view version, std::string_view method) {
    return ask_once(server, *url, *proxy, body, version, method, steady_clock::now() + patience);
  };
  const auto begun = steady_clock::now();
  Asked modern = ask(mcp::discover_request(1), mcp::kNewestModern, "server/discover");
  if (!modern.step.fault.empty())
    return findings.fault(modern.step.check, modern.step.fault, modern.step.fix);
  findings.well("connect",
                fmt::format("{}{} answered after {}",
                            printable(url->unix_path.empty() ? url->host_header : url->unix_path),
                            *proxy ? " by its proxy" : "",
                            config::format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(
                                steady_clock::now() - begun))));
  look_at_clock(modern.answer, findings);
  if (modern.status == 401 || modern.status == 403 || modern.status == 407 ||
      (modern.status >= 300 && modern.status < 400)) {
    const Step step = fix_of_status(modern, server);
    return findings.fault(step.check, step.fault, step.fix);
  }
  const bool is_modern = modern.has_result() && modern.answer.find("supportedVersions") != std::string::npos;
  // A credential is asked of one question, and a second one that has an end is no harm.
  Asked legacy;
  if (!is_modern || server.protocol_era == config::Era::legacy)
    legacy = ask(mcp::initialize_request(2, mcp::bare_initialize_params()), {}, {});
  const bool is_legacy = legacy.has_result() && legacy.answer.find("protocolVersion") != std::string::npos;
  end_session(server, *url, *proxy, legacy.answer, steady_clock::now() + patience);
  if (!is_modern && !is_legacy) {
    if (!legacy.step.fault.empty())
      return findings.fault(legacy.step.check, legacy.step.fault, legacy.step.fix);
    const Step step = fix_of_status(legacy, server);
    return findings.fault(
        step.check, legacy.status == 200 ? "it answers, and not as an MCP server" : step.fault, step.fix);
  }
  if (server.protocol_era == config::Era::modern && !is_modern)
    return findings.fault("era", "protocolEra is modern, and the server speaks legacy", "protocolEra: auto");
  if (server.protocol_era == config::Era::legacy && !is_legacy)
    return findings.fault("era", "protocolEra is legacy, and the server speaks modern", "protocolEra: auto");
  findings.well("era", is_modern ? "modern" : "legacy");
}

}  // namespace lineward::doctor

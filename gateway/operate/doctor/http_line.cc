#include "operate/doctor/http_line.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>

#include "foundation/base/freed.h"
#include "foundation/log/printable.h"
#include "operate/doctor/masked.h"

namespace lineward::doctor {
namespace {

using std::chrono::steady_clock;

constexpr size_t kMaxAnswer = 1 << 20;

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

}  // namespace

bool HttpLine::wait(short what) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd one{socket_.get(), what, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool HttpLine::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT)) return false;
    const ssize_t n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool HttpLine::receive(std::string& bytes) {
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

Step HttpLine::connect_unix() {
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

Step HttpLine::connect_tcp(const std::string& host, uint16_t port, bool is_proxy) {
  const char* what = is_proxy ? "the proxy " : "";
  // The resolver's default timeout is half a minute.
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

Step HttpLine::tunnel(const config::Server& server, const upstream::HttpProxy& proxy) {
  const std::string target = fmt::format("{}:{}", url_.host, url_.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
  if (!proxy.authorization.empty()) request += "Proxy-Authorization: " + proxy.authorization + "\r\n";
  std::string answer;
  bool sent = send_all(request + "\r\n");
  while (sent && answer.find("\r\n\r\n") == std::string::npos && answer.size() < kMaxAnswer &&
         receive(answer)) {
  }
  if (answer.rfind("HTTP/1.", 0) == 0 && answer.size() > 12 && answer[9] == '2') return {};
  const std::string said = Masked(server)(answer.substr(0, answer.find('\r')), 100);
  return {fmt::format("the proxy does not let through to {}: {}", printable(target),
                      said.empty() ? "no answer" : said),
          "proxy",
          said.find("407") != std::string::npos
              ? "proxy: http://user:password@host:port gives its password"
              : "name the host in NO_PROXY, or ask the operator of the proxy"};
}

Step HttpLine::handshake(const config::Server& server) {
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
  if (tls_->state() == net::TlsEngine::State::failed) return fix_of_tls(Masked(server)(tls_->fault(), 300));
  return {};
}

Step HttpLine::connect(const config::Server& server, const std::optional<upstream::HttpProxy>& proxy) {
  if (!url_.unix_path.empty()) return connect_unix();
  Step step = proxy ? connect_tcp(proxy->host, proxy->port, true) : connect_tcp(url_.host, url_.port, false);
  if (step.fault.empty() && proxy && url_.tls) step = tunnel(server, *proxy);
  if (step.fault.empty() && url_.tls) step = handshake(server);
  return step;
}

bool HttpLine::write(const std::string& request) {
  if (!tls_) return send_all(request);
  tls_->write(request);
  return send_all(tls_->take_output());
}

HttpLine::Came HttpLine::read(std::string& answer, time_point until) {
  until_ = until;
  std::string wire;
  if (!receive(wire)) return is_late() ? Came::nothing : Came::end;
  if (!tls_) {
    answer += wire;
    return Came::bytes;
  }
  tls_->feed(wire, answer);
  if (tls_->state() == net::TlsEngine::State::closed || tls_->state() == net::TlsEngine::State::failed)
    return Came::end;
  send_all(tls_->take_output());
  return Came::bytes;
}

Step HttpLine::exchange(const std::string& request, std::string& answer, Enough enough) {
  const bool sent = write(request);
  while (sent && answer.size() < kMaxAnswer) {
    const size_t end = answer.find("\r\n\r\n");
    if (end != std::string::npos && enough(std::string_view(answer).substr(end))) {
      // Waits only for the rest that is already arriving.
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

Result<HttpTarget, Step> target_of(const config::Server& server) {
  auto url = upstream::parse_http_url(server.url);
  if (!url) return Unexpected<Step>{{url.error().text, "url", "write http://…, https://… or unix:/path"}};
  auto proxy = upstream::choose_proxy(*url, server.proxy, upstream::process_environment());
  if (!proxy)
    return Unexpected<Step>{{proxy.error().text, "proxy", "correct proxy, or HTTPS_PROXY and HTTP_PROXY"}};
  return HttpTarget{*url, *proxy};
}

Asked ask_once(const config::Server& server, const HttpTarget& target, const std::string& request,
               HttpLine::Enough enough, HttpLine::time_point until) {
  Asked asked;
  HttpLine line(target.url, until);
  asked.step = line.connect(server, target.proxy);
  if (!asked.step.fault.empty()) return asked;
  asked.step = line.exchange(request, asked.answer, enough);
  if (asked.step.fault.empty() && asked.answer.size() >= 12)
    std::from_chars(asked.answer.data() + 9, asked.answer.data() + 12, asked.status);
  return asked;
}

}  // namespace lineward::doctor

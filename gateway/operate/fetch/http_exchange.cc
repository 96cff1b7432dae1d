#include "operate/fetch/http_exchange.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "config/secrets.h"
#include "foundation/base/freed.h"
#include "foundation/log/sanitize.h"
#include "foundation/net/socket_address.h"
#include "operate/fetch/redactor.h"

namespace lineward::fetch {
namespace {

using std::chrono::steady_clock;

constexpr size_t kMaxAnswer = 1 << 20;
constexpr std::chrono::milliseconds kRest{50};

bool is_late(Time until) {
  return steady_clock::now() >= until;
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

}  // namespace

bool HttpExchange::wait(short what, Time until) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd one{socket_.get(), what, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool HttpExchange::send_all(std::string_view bytes, Time until) {
  while (!bytes.empty()) {
    if (!wait(POLLOUT, until)) return false;
    const ssize_t n = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool HttpExchange::receive(std::string& bytes, Time until) {
  std::array<char, 16384> buffer;
  for (;;) {
    if (!wait(POLLIN, until)) return false;
    const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    bytes.append(buffer.data(), static_cast<size_t>(n));
    return true;
  }
}

Step HttpExchange::connect_tcp(const std::string& host, uint16_t port, bool is_proxy, Time until) {
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
    return {fmt::format("{}{} has no address: {}", what, sanitize(host), gai_strerror(error)),
            is_proxy ? "proxy" : "dns",
            is_proxy ? "correct the proxy (HTTPS_PROXY, HTTP_PROXY or proxy), or name the host in NO_PROXY"
                     : "is the name right? See /etc/resolv.conf and the network",
            EHOSTUNREACH};
  }
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> all(found);
  int why = ETIMEDOUT;
  for (const addrinfo* one = all.get(); one != nullptr && !is_late(until); one = one->ai_next) {
    socket_.reset(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket_.get(), one->ai_addr, one->ai_addrlen) == 0) return {};
    why = errno;
    if (why != EINPROGRESS) continue;
    why = ETIMEDOUT;
    if (!wait(POLLOUT, until)) continue;
    socklen_t size = sizeof why;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &why, &size);
    if (why == 0) return {};
  }
  return {fmt::format("cannot connect to {}{}:{}: {}", what, sanitize(host), port, strerror(why)),
          is_proxy ? "proxy" : "connect",
          is_proxy ? "is the proxy running? Correct it, or name the host in NO_PROXY"
                   : "is the server running, and on this port?",
          why};
}

Step HttpExchange::tunnel(const HttpTarget& target, Time until) {
  const std::string host = fmt::format("{}:{}", target.url.host, target.url.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", host);
  if (!target.proxy->authorization.empty())
    request += "Proxy-Authorization: " + target.proxy->authorization + "\r\n";
  std::string answer;
  const bool sent = send_all(request + "\r\n", until);
  while (sent && answer.find("\r\n\r\n") == std::string::npos && answer.size() < kMaxAnswer &&
         receive(answer, until)) {
  }
  if (answer.rfind("HTTP/1.", 0) == 0 && answer.size() > 12 && answer[9] == '2') return {};
  const std::string said = Redactor(target.secrets)(answer.substr(0, answer.find('\r')), 100);
  return {fmt::format("the proxy does not let through to {}: {}", sanitize(host),
                      said.empty() ? "no answer" : said),
          "proxy",
          said.find("407") != std::string::npos
              ? "proxy: http://user:password@host:port gives its password"
              : "name the host in NO_PROXY, or ask the operator of the proxy"};
}

Step HttpExchange::handshake(const HttpTarget& target, Time until) {
  auto context = net::TlsContext::for_client(target.tls);
  if (!context) return {context.error().text, "tls", "correct caFile, clientCert or clientKey"};
  auto engine = net::TlsEngine::for_client(*context, target.url.host);
  if (!engine) return {engine.error().text, "tls", "correct url"};
  tls_ = std::move(*engine);
  std::string plain;
  while (tls_->state() == net::TlsEngine::State::handshake) {
    if (!send_all(tls_->take_output(), until)) return fix_of_tls("the TLS handshake was broken off");
    std::string wire;
    if (!receive(wire, until))
      return fix_of_tls(is_late(until) ? "the TLS handshake took too long"
                                       : "the TLS handshake was broken off");
    tls_->feed(wire, plain);
  }
  if (tls_->state() == net::TlsEngine::State::failed)
    return fix_of_tls(Redactor(target.secrets)(tls_->fault(), 300));
  return {};
}

Step HttpExchange::connect(const HttpTarget& target, std::string request, Time until) {
  const upstream::HttpUrl& url = target.url;
  Step step;
  if (!url.unix_path.empty()) {
    socket_.reset(net::connect_unix(url.unix_path));
    const int error = errno;
    if (!socket_.open() && error == ENAMETOOLONG)
      return {"its socket's path is too long", "connect", "use a shorter path", error};
    if (!socket_.open())
      return {fmt::format("cannot connect to {}: {}", sanitize(url.unix_path), strerror(error)), "connect",
              "is the server running, and its socket yours to use?", error};
  } else {
    step = target.proxy ? connect_tcp(target.proxy->host, target.proxy->port, true, until)
                        : connect_tcp(url.host, url.port, false, until);
    if (step.fault.empty() && target.proxy && url.tls) step = tunnel(target, until);
    if (step.fault.empty() && url.tls) step = handshake(target, until);
  }
  if (!step.fault.empty()) {
    socket_.reset();
    return step;
  }
  if (tls_) {
    tls_->write(request);
    request = tls_->take_output();
  }
  to_send_ = std::move(request);
  return step;
}

pollfd HttpExchange::wants() const {
  return {over_ ? -1 : socket_.get(), static_cast<short>(to_send_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
}

void HttpExchange::advance() {
  if (over_ || !socket_.open()) return;
  if (!to_send_.empty()) {
    const ssize_t n = send(socket_.get(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
    if (n >= 0) to_send_.erase(0, static_cast<size_t>(n));
    // Data sent by the peer before it closed may still be read.
    if (n < 0 && errno != EAGAIN && errno != EINTR) to_send_.clear();
  }
  std::array<char, 65536> bytes;
  const ssize_t n = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::string plain;
  std::string_view read(bytes.data(), static_cast<size_t>(std::max<ssize_t>(n, 0)));
  bool ended = n <= 0;
  if (tls_) {
    using State = net::TlsEngine::State;
    const State state = ended ? State::closed : tls_->feed(read, plain);
    ended = state == State::closed || state == State::failed;
    if (!ended) to_send_ += tls_->take_output();
    read = plain;
  }
  received_ += read.size();
  parser_.append(read);
  if (ended) parser_.finish();
  parse();
  over_ = over_ || ended;
}

void HttpExchange::parse() {
  using Next = http::ResponseParser::Next;
  for (;;) {
    switch (parser_.next()) {
      case Next::need_more: return;
      case Next::head: status_ = parser_.info().status; break;
      case Next::body: body_ += parser_.body(); break;
      case Next::complete: complete_ = true; [[fallthrough]];
      case Next::failed: over_ = true; return;
    }
  }
}

bool HttpExchange::advance_until(Time until) {
  if (over_ || !wait(wants().events, until)) return false;
  advance();
  return true;
}

Result<HttpTarget, Step> target_of(const config::Server& server) {
  auto url = upstream::parse_http_url(server.url);
  if (!url) return Unexpected<Step>{{url.error().text, "url", "write http://…, https://… or unix:/path"}};
  auto proxy = upstream::choose_proxy(*url, server.proxy, upstream::process_environment());
  if (!proxy)
    return Unexpected<Step>{{proxy.error().text, "proxy", "correct proxy, or HTTPS_PROXY and HTTP_PROXY"}};
  return HttpTarget{
      *url, *proxy, {server.ca_file, server.client_cert, server.client_key}, config::given_to(server)};
}

HttpTarget unix_target(std::string socket, std::string path) {
  HttpTarget target;
  target.url.unix_path = std::move(socket);
  target.url.target = std::move(path);
  target.url.host_header = "localhost";
  return target;
}

// A proxy without TLS gets the absolute URL (RFC 9112, section 3.2.2).
std::string HttpTarget::request(std::string_view method, std::string_view headers,
                                std::string_view body) const {
  const std::string proxied = proxy && !url.tls ? "http://" + url.host_header : std::string();
  std::string out = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n{}", method, proxied, url.target,
                                url.host_header, headers);
  if (!body.empty())
    out += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  return out.append("\r\n").append(body);
}

std::string Answer::header(std::string_view name) const {
  return status == 0 ? std::string() : std::string(exchange->info().headers.get(name));
}

Answer fetch(const HttpTarget& target, std::string request, Enough enough, Time until) {
  Answer answer;
  answer.exchange = std::make_unique<HttpExchange>(kMaxAnswer);
  HttpExchange& exchange = *answer.exchange;
  answer.step = exchange.connect(target, std::move(request), until);
  if (!answer.step.fault.empty()) return answer;
  while (answer.body.size() < kMaxAnswer && exchange.advance_until(until)) {
    answer.body += exchange.take_body();
    // Waits only for the rest that is already arriving.
    if (enough != nullptr && exchange.status() != 0 && enough(answer.body))
      until = std::min(until, steady_clock::now() + kRest);
  }
  exchange.close();
  answer.status = exchange.status();
  if (answer.status != 0) return answer;
  if (exchange.received() == 0 && !exchange.over() && is_late(until)) {
    answer.step = {"it did not answer in time", "http", "--patience 1m waits longer; is it an HTTP server?"};
  } else {
    answer.step = {"it did not answer as an HTTP server does", "http",
                   target.url.tls ? "is it an MCP server?" : "is it an MCP server, without TLS?"};
  }
  return answer;
}

}  // namespace lineward::fetch

#include "operate/cli/console_bridge.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "foundation/base/random_id.h"
#include "foundation/net/connector.h"
#include "operate/admin/api_access.h"
#include "operate/admin/console_logins.h"
#include "protocol/http/response_parser.h"

namespace lineward::cli {
namespace {

using admin::PlainRequest;
using admin::PlainResponse;
using admin::refused;
using Next = http::ResponseParser::Next;
using std::chrono::milliseconds;

constexpr milliseconds kConnectLimit{3000};
// Longer than the maximum wait for a cancel.
constexpr milliseconds kBridgeLimit{40000};
constexpr uint64_t kMaxBridged = 64ull << 20;
// Queue for a slow browser before reading from the gateway pauses.
constexpr size_t kBacklog = 256 * 1024;
constexpr std::string_view kOpen = "/open/";
// Response headers forwarded to the browser.
constexpr std::string_view kPassed[] = {"Content-Security-Policy",
                                        "Referrer-Policy",
                                        "Cross-Origin-Opener-Policy",
                                        "Cross-Origin-Resource-Policy",
                                        "X-Frame-Options",
                                        "Location",
                                        "Allow"};

bool same(std::string_view a, std::string_view b) {
  return !a.empty() && a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// A forwarded request and its answer.
class ConsoleBridge::Passing final : public net::StreamCallbacks,
                                     public admin::OpsStream,
                                     public std::enable_shared_from_this<Passing> {
 public:
  Passing(ConsoleBridge& bridge, std::string request, admin::OpsHttpServer::Answer answer)
      : bridge_(&bridge),
        loop_(bridge.loop_),
        request_(std::move(request)),
        answer_(std::move(answer)),
        parser_(limits()),
        timer_(bridge.loop_) {}
  ~Passing() override {
    if (stream_) stream_->close();
  }

  void start(const std::string& socket) {
    timer_.start(kBridgeLimit, [this] { give_up(504, "the gateway did not answer in time"); });
    connector_.emplace(loop_, socket, kConnectLimit, [this](net::Connector::Connected connected) {
      if (!connected) return give_up(502, "the gateway does not answer: it has ended, or is about to begin");
      stream_ = std::move(*connected);
      stream_->set_owner(this);
      parser_.begin();
      stream_->write(std::move(request_));
      stream_->start_reading();
    });
  }
  // The bridge is gone.
  void leave() { bridge_ = nullptr; }

 private:
  static http::ResponseLimits limits() {
    http::ResponseLimits out;
    out.body_bytes = kMaxBridged;
    return out;
  }

  // StreamCallbacks
  void on_data(std::string_view bytes) override {
    parser_.append(bytes);
    go_on();
  }
  void on_end(int) override {
    parser_.finish();
    if (over_) return;
    go_on();
    if (sink_ != nullptr) return std::exchange(sink_, nullptr)->end();
    if (!over_) give_up(502, "the gateway did not answer to the end");
  }

  void go_on() {
    while (!over_) {
      switch (parser_.next()) {
        case Next::need_more: return;
        case Next::head:
          if (parser_.info().headers.get("Content-Type").substr(0, 17) == "text/event-stream") begin_stream();
          continue;
        case Next::body:
          if (sink_ == nullptr) {
            body_ += parser_.body();
            continue;
          }
          sink_->write(std::string(parser_.body()));
          if (sink_->backlog() > kBacklog) stream_->pause_reading();
          continue;
        case Next::complete:
          if (sink_ != nullptr) return;  // the end of the connection ends it
          return finish(head(std::move(body_)));
        case Next::failed: return give_up(502, "the gateway did not answer as one does");
      }
    }
  }

  PlainResponse head(std::string body) const {
    PlainResponse out;
    const http::ResponseInfo& info = parser_.info();
    out.status = info.status;
    out.content_type = std::string(info.headers.get("Content-Type"));
    for (std::string_view name : kPassed) {
      if (info.headers.find(name) != nullptr)
        out.headers.push_back({std::string(name), std::string(info.headers.get(name))});
    }
    out.body = std::move(body);
    return out;
  }

  // An endless answer: it belongs to the browser's connection from here on.
  void begin_stream() {
    timer_.stop();
    parser_.unlimited_body();
    PlainResponse out = head({});
    auto self = shared_from_this();
    out.stream = self;
    std::exchange(answer_, nullptr)(std::move(out));
    over_ = sink_ == nullptr;  // the browser has disconnected meanwhile
    forget();
  }
  // OpsStream
  void begin(admin::OpsHttpServer::Connection& to) override { sink_ = &to; }
  void drained() override {
    if (stream_ && !stream_->closed() && !stream_->reading()) stream_->start_reading();
  }

  void give_up(int status, std::string_view text) {
    if (answer_) return finish(refused(status, text));
    if (sink_ != nullptr) std::exchange(sink_, nullptr)->end();
  }
  void finish(PlainResponse out) {
    over_ = true;
    timer_.stop();
    std::exchange(answer_, nullptr)(std::move(out));
    forget();
  }
  // A function of it may be on the stack.
  void forget() {
    auto self = shared_from_this();
    if (bridge_ != nullptr) bridge_->passing_.erase(self);
    loop_.retire(std::move(self));
  }

  ConsoleBridge* bridge_;
  net::Loop& loop_;
  std::string request_;
  admin::OpsHttpServer::Answer answer_;
  http::ResponseParser parser_;
  std::string body_;
  std::optional<net::Connector> connector_;
  std::unique_ptr<net::ByteStream> stream_;
  admin::OpsHttpServer::Connection* sink_ = nullptr;
  net::Timer timer_;
  bool over_ = false;
};

ConsoleBridge::ConsoleBridge(net::Loop& loop, std::function<std::string()> socket,
                             std::function<void()> opened)
    : loop_(loop),
      socket_(std::move(socket)),
      opened_(std::move(opened)),
      root_("/" + random_id()),
      cookie_(random_id()),
      once_(random_id()),
      server_(loop, [this](const PlainRequest& request, admin::OpsHttpServer::Answer answer) {
        handle(request, std::move(answer));
      }) {}

ConsoleBridge::~ConsoleBridge() {
  for (const auto& one : passing_)
    one->leave();
}

Status<> ConsoleBridge::listen() {
  return server_.listen("127.0.0.1:0");
}

std::string ConsoleBridge::link() const {
  return "http://" + server_.address() + root_ + std::string(kOpen) + once_;
}

std::string ConsoleBridge::address() const {
  return "http://" + server_.address() + root_ + "/console";
}

std::optional<PlainResponse> ConsoleBridge::refusal(const PlainRequest& request) const {
  const http::HeaderList& headers = request.head.headers;
  const std::string_view host = headers.get("Host");
  if (!admin::is_own_host(host, {})) return refused(403, "this Host is not served here");
  const bool reads = request.head.method == "GET";
  if (!reads && request.head.method != "POST") return refused(405, "this takes GET and POST");
  if (headers.find("Origin") != nullptr) {
    if (headers.count("Origin") != 1 ||
        !http::equals_ignoring_case(headers.get("Origin"), "http://" + std::string(host)))
      return refused(403, "not for pages of other origins");
  } else if (!reads) {
    return refused(403, "a request that changes something has an Origin");
  }
  if (request.path.rfind(root_ + "/", 0) != 0) return refused(404, "there is nothing here");
  return std::nullopt;
}

PlainResponse ConsoleBridge::use_link() {
  once_.clear();
  PlainResponse out;
  out.content_type = "text/html; charset=utf-8";
  // Not a redirect: the cookie is only sent by pages from here. This is such a page, wherever the link was
  // opened.
  out.body =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Lineward</title>"
      "<meta http-equiv=\"refresh\" content=\"0;url=../console\"><p><a href=\"../console\">The console</a>\n";
  out.headers.push_back({"Set-Cookie", fmt::format("{}={}; Path={}/; HttpOnly; SameSite=Strict",
                                                   admin::kConsoleCookie, cookie_, root_)});
  out.headers.push_back({"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"});
  out.headers.push_back({"Referrer-Policy", "no-referrer"});
  return out;
}

void ConsoleBridge::handle(const PlainRequest& request, admin::OpsHttpServer::Answer answer) {
  if (auto no = refusal(request)) return answer(std::move(*no));
  const http::HeaderList& headers = request.head.headers;
  const std::string path = request.path.substr(root_.size());
  if (path.rfind(kOpen, 0) == 0) {
    if (request.head.method != "GET" || !same(std::string_view(path).substr(kOpen.size()), once_))
      return answer(admin::plain_text(
          403, "This link has been used, or is none. End `lineward console` and begin it again.\n"));
    answer(use_link());
    return opened_();
  }
  if (!same(admin::cookie_of(headers, admin::kConsoleCookie), cookie_))
    return answer(
        admin::plain_text(403, "This browser has not opened the link that `lineward console` printed.\n"));
  std::string sent = fmt::format("{} {}{}{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                                 request.head.method, path, request.query.empty() ? "" : "?", request.query);
  for (std::string_view name : {std::string_view("Content-Type"), std::string_view("Last-Event-ID")}) {
    if (headers.count(name) == 1) http::append_field(sent, name, headers.get(name));
  }
  if (request.head.method == "POST") http::append_length(sent, request.body.size());
  sent += "\r\n" + request.body;
  auto passing = std::make_shared<Passing>(*this, std::move(sent), std::move(answer));
  passing_.insert(passing);
  passing->start(socket_());
}

}  // namespace lineward::cli

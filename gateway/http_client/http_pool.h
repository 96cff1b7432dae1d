// The connections to one HTTP server: those that carry a request belong to its transfer, the idle ones wait
// here to be used again. A connection that was cut, half read, or on which anything unexpected came is never
// used again.
//
// One per HTTP upstream, which owns it; transfers hold a reference and die before it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/held_bytes.h"
#include "base/pooled.h"
#include "config/config.h"
#include "http/writer.h"
#include "http_client/http_connection.h"
#include "http_client/stream_places.h"
#include "log/paced.h"
#include "metrics/stats.h"
#include "net/lifetime.h"
#include "net/resolver.h"

namespace lineward::upstream {

// Headers that many requests have, ready to be sent.
class SharedHeaders {
 public:
  explicit SharedHeaders(std::vector<http::OutHeader> headers);
  const std::vector<http::OutHeader>& all() const { return headers_; }
  // As lines of a head.
  const std::string& lines() const { return lines_; }

 private:
  std::vector<http::OutHeader> headers_;
  std::string lines_;
};

struct HttpRequest {
  std::string_view method = "POST";
  std::vector<http::OutHeader> headers;  // framing and Host are the pool's
  std::string body;
  std::string target;         // empty: the URL's own
  bool receipt_only = false;  // HTTP+SSE: whatever a 2xx says, what counts comes on another stream
  // Stand before `headers`, none of which has a name of theirs; outlive the request.
  const SharedHeaders* shared_headers = nullptr;
  std::string host = {};   // empty: the URL's own
  std::string lines = {};  // more headers, as http::append_field() writes them
};

// What requests to a server carry as Authorization, where Lineward gets it itself.
class RequestCredentials {
 public:
  enum class State : uint8_t { not_needed, there, missing };
  virtual ~RequestCredentials() = default;
  virtual State state() = 0;
  // The header's value; empty unless `there`.
  virtual const std::string& authorization() const = 0;
  // Gets it anew; `fault` is empty when it is there. Never calls back from inside.
  virtual void fetch(std::function<void(const std::string& fault)> done) = 0;
  // The server answered 401 or 403 to `used`. True when what fetch() gets may do better.
  virtual bool refused(const std::string& used, const http::ResponseInfo& info) = 0;
};

class HttpTransferOwner {
 public:
  // A connection is there, and the request on its way: it cannot be taken back any more.
  virtual void on_transfer_sent() = 0;
  // All of it went to the kernel.
  virtual void on_transfer_drained() = 0;
  virtual void on_transfer_head(const http::ResponseInfo& info) = 0;
  virtual void on_transfer_body(std::string&& bytes) = 0;
  // One of these two is the last.
  virtual void on_transfer_complete() = 0;
  virtual void on_transfer_failed(const HttpFault& fault) = 0;

 protected:
  ~HttpTransferOwner() = default;
};

class BodyInflater;
class HttpPool;

// One request and its response. Its owner may close() it in any callback, and frees it at the end of the
// turn.
class HttpTransfer final : public HttpConnectionOwner, public Pooled<HttpTransfer> {
 public:
  HttpTransfer(HttpPool& pool, HttpRequest&& request, HttpTransferOwner& owner);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  void unlimited_body();
  // Stops reading the response, and goes on.
  void pause() {
    if (connection_) connection_->pause();
  }
  void leave_to_others() {
    if (connection_) connection_->leave_to_others();
  }
  void resume() {
    if (connection_) connection_->resume();
  }
  bool sent() const { return sent_; }
  // The response's body is compressed, and comes as it was before.
  bool inflates() const { return inflater_ != nullptr; }
  // `text` without what this request carried and nobody else may see: what a server says to a refused key may
  // hold the key.
  std::string without_credentials(std::string text) const;
  // What came is no answer to this request: the connection may be out of step and is not used again.
  void distrust() { trusted_ = false; }
  // Gives up: its connection is closed at once. Nothing is called any more.
  void close();
  // Lets the rest of the response come, so that the connection can be used again; not for long, and not much
  // of it. The owner hears nothing any more.
  static void finish_quietly(std::unique_ptr<HttpTransfer> transfer);

 private:
  void begin(bool fresh);
  void await_credentials();
  bool ask_again(const http::ResponseInfo& info);
  void say_again();
  bool follow(const http::ResponseInfo& info);
  void inflate(const std::string& bytes);
  void fail(HttpFault fault);
  void on_connected() override;
  void on_request_drained() override;
  void on_response_head(const http::ResponseInfo& info) override;
  void on_response_body(std::string&& bytes) override;
  void on_response_complete() override;
  void on_connection_failed(const HttpFault& fault) override;
  void end_quietly();

  HttpPool& pool_;
  HttpRequest request_;
  HeldBytes held_{Held::bodies};  // of its body, until nothing can make us say it again
  HttpTransferOwner* owner_;
  std::unique_ptr<HttpConnection> connection_;
  bool reused_ = false;
  bool sent_ = false;
  bool closed_ = false;
  bool trusted_ = true;
  bool quiet_ = false;         // nobody wants the rest
  std::string authorization_;  // as it was sent, where it is Lineward's own
  uint32_t refusals_ = 0;
  uint32_t redirects_ = 0;
  std::unique_ptr<BodyInflater> inflater_;
  bool is_given_away_ = false;   // its body cannot be said again
  bool is_servers_own_ = false;  // it was for the server's own target before it was redirected
  bool is_stream_ = false;
  size_t inflated_ = 0;  // of a body that is no stream
  size_t quiet_bytes_ = 0;
  std::unique_ptr<net::Timer> patience_;
  net::Deferred connected_later_;
  net::Lifetime lifetime_;
};

struct PoolOptions {
  std::chrono::milliseconds connect_timeout{5000};
  size_t idle_connections = 64;
  std::chrono::milliseconds idle_timeout{4000};  // where the server does not say
  size_t most_connections = 10000;
  std::optional<HttpProxy> proxy;
  net::ResolverOptions resolver;  // idle connections are compared with its answers as often as it asks
  http::ResponseLimits limits;
  core::UpstreamStats* stats = nullptr;            // where broken messages are counted; may be null
  void take_limits(const config::Server& server);  // all but the proxy
};

// As the configuration and, for the proxy, the environment say.
Result<PoolOptions> pool_options(const config::Server& server, const HttpUrl& url);

class HttpPool {
 public:
  HttpPool(net::Loop& loop, const HttpUrl& url, std::shared_ptr<net::TlsContext> tls, PoolOptions options);
  ~HttpPool();
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  net::Loop& loop() { return loop_; }
  const HttpUrl& url() const { return url_; }
  size_t idle() const { return idle_.size(); }
  void count(core::MessageError error) {
    if (options_.stats != nullptr) options_.stats->message_error(error);
  }
  void count(const mcp::MessageFault& fault) {
    if (options_.stats != nullptr) options_.stats->message_error(fault);
  }
  // A line about something of the server's that was dropped; now and then, however often that is.
  void log_dropped(std::string_view kind);
  // What a server sent was of no use to any client. A stream compares the count before and after it hands a
  // message on.
  void note_useless() { ++useless_; }
  uint64_t useless() const { return useless_; }
  // The server's name; empty where it is none.
  std::string_view server() const {
    return options_.stats != nullptr ? std::string_view(options_.stats->name) : std::string_view();
  }
  // Redirects 307 and 308 to the same origin are followed, and gzip and deflate are read.
  void be_liberal() { liberal_ = true; }
  // Before the first request; must outlive the pool's transfers.
  void use(RequestCredentials& credentials) { credentials_ = &credentials; }
  // Limits for what begins from here on; the proxy stays.
  void set_limits(const config::Server& server);
  // Those of its connections that are streams without an end of their own.
  StreamPlaces& streams() { return streams_; }
  // As many connections as there may be, and none of them idle. Only its owner minds; `freed` tells it when
  // that is over.
  bool full() const { return *open_ >= options_.most_connections && idle_.empty(); }
  void on_freed(std::function<void()> freed) { freed_ = std::move(freed); }
  // Closes what is idle or about to be.
  void close_idle();

 private:
  friend class HttpTransfer;
  struct Idle {
    std::unique_ptr<HttpConnection> connection;
    std::chrono::milliseconds until;
    uint64_t since;  // in turns of the loop
  };
  // An idle one, or null.
  std::unique_ptr<HttpConnection> take_idle();
  std::unique_ptr<HttpConnection> open();
  void give_back(std::unique_ptr<HttpConnection> connection);
  void let_finish(std::unique_ptr<HttpTransfer> transfer);
  void finished(HttpTransfer& transfer);
  void drop(const HttpConnection& connection);
  void look_again();
  void sweep();
  void refresh_addresses();
  // Where requests go that name no target: the URL's, or where the server has redirected them to.
  const std::string& target() const { return moved_.empty() ? url_.target : moved_; }
  void moved_to(std::string target);
  void append_start(std::string& head, std::string_view method, std::string_view target,
                    std::string_view host) const;
  std::string render_head(const HttpRequest& request, const std::string& authorization) const;

  net::Loop& loop_;
  const HttpUrl& url_;
  std::shared_ptr<net::TlsContext> tls_;
  PoolOptions options_;
  const bool by_url_;  // through a proxy that is told the whole URL (RFC 9112 3.2.2)
  bool liberal_ = false;
  std::string moved_;                        // the target that a redirect named
  std::string post_start_;                   // of a usual request's head
  std::unique_ptr<net::Resolver> resolver_;  // null for a Unix socket
  std::vector<Idle> idle_;                   // the one used last is at the end
  std::vector<std::unique_ptr<HttpTransfer>> finishing_;
  uint64_t useless_ = 0;
  RequestCredentials* credentials_ = nullptr;
  net::Timer sweeper_;
  std::chrono::milliseconds refreshed_{0};
  bool refreshing_ = false;
  StreamPlaces streams_{loop_};
  log::Paced dropped_log_;
  std::shared_ptr<size_t> open_ = std::make_shared<size_t>(0);  // connections there are
  std::function<void()> freed_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

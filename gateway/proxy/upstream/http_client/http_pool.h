// The connections to one HTTP server: active ones belong to their transfers, idle ones wait here for reuse. A
// connection that was cut, partially read, or that received unexpected bytes is never reused.
//
// Each HTTP upstream owns one; transfers hold a reference and must be destroyed before it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/base/pooled.h"
#include "foundation/log/paced.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/resolver.h"
#include "protocol/http/writer.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/http_client/http2_links.h"
#include "proxy/upstream/http_client/http_connection.h"
#include "proxy/upstream/http_client/stream_limiter.h"

namespace lineward::upstream {

// Headers shared by many requests, serialised in advance.
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
  std::vector<http::OutHeader> headers;  // framing and Host are set by the pool
  std::string body;
  std::string target;         // empty: the URL's target
  bool receipt_only = false;  // HTTP+SSE: any 2xx will do, the answer arrives on another stream
  // Written before `headers`; the two have no common name. Must outlive the request.
  const SharedHeaders* shared_headers = nullptr;
  std::string host = {};   // empty: the URL's host
  std::string lines = {};  // more headers, as http::append_field() writes them
};

// The Authorization header of requests, if Lineward obtains the token itself.
class RequestCredentials {
 public:
  enum class State : uint8_t { not_needed, there, missing };
  virtual ~RequestCredentials() = default;
  virtual State state() = 0;
  // The header's value; empty unless `there`.
  virtual const std::string& authorization() const = 0;
  // Obtains a new one; `fault` is empty on success. Never calls back synchronously.
  virtual void fetch(std::function<void(const std::string& fault)> done) = 0;
  // The server answered 401 or 403 to `used`. True when fetch() may obtain better credentials.
  virtual bool refused(const std::string& used, const http::ResponseInfo& info) = 0;
};

class HttpTransferCallbacks {
 public:
  // A connection exists and the request is being sent: it cannot be withdrawn any more.
  virtual void on_transfer_sent() = 0;
  // The kernel has taken the whole request.
  virtual void on_transfer_drained() = 0;
  virtual void on_transfer_head(const http::ResponseInfo& info) = 0;
  virtual void on_transfer_body(std::string_view bytes) = 0;
  // The last callback is one of these two.
  virtual void on_transfer_complete() = 0;
  virtual void on_transfer_failed(const core::Failure& fault) = 0;

 protected:
  ~HttpTransferCallbacks() = default;
};

// Sees how the requests of a pool end, of whatever kind they are. No callback may end the pool.
class PoolObserver {
 public:
  // A response has begun, other than one that is repeated with new credentials or at another path.
  virtual void on_response(const http::ResponseInfo& info) = 0;
  // No connection, or it broke before the response was complete; an event stream may break at any time. A
  // request that Lineward held back until it was given up is none of these.
  virtual void on_broken(const core::Failure& fault) = 0;

 protected:
  ~PoolObserver() = default;
};

// Messages of one server that are of no use to any client, whichever of its pools they came by.
struct UselessMessages {
  uint64_t count = 0;
  log::Paced log;
};

class BodyInflater;
class HttpPool;

// A request and its response. Its owner may close() it in any callback, and frees it at the end of the turn.
class HttpTransfer final : public Pooled<HttpTransfer> {
 public:
  HttpTransfer(HttpPool& pool, HttpRequest&& request, HttpTransferCallbacks& owner);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  void unlimited_body();
  // Stops or resumes reading the response.
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
  // It waits in Lineward, for credentials or a stream of a connection: its server has nothing to do with it.
  bool is_held_back() const { return waits_ || (connection_ && connection_->waits()); }
  // The response's body is compressed, and delivered inflated.
  bool inflates() const { return inflater_ != nullptr; }
  // `text` without the secrets of this request: a server's refusal of a key may contain the key.
  std::string without_credentials(std::string text) const;
  // The response does not match this request: the connection may be out of step and is not reused.
  void distrust() { trusted_ = false; }
  // Closes its connection at once. No callback follows.
  void close();
  // Reads the rest of the response, within small limits of time and size, so that the connection can be
  // reused. No callback follows.
  static void finish_quietly(std::unique_ptr<HttpTransfer> transfer);

  // Events of its connection.
  void on_connected();
  void on_request_drained();  // the kernel has taken the whole request
  void on_response_head(const http::ResponseInfo& info);
  void on_response_body(std::string_view bytes);
  void on_response_complete();  // the connection may be given back if reusable()
  void on_connection_failed(const core::Failure& fault);

 private:
  void begin(bool fresh);
  void await_credentials();
  void stop_waiting();
  bool ask_again(const http::ResponseInfo& info);
  void say_again();
  bool follow(const http::ResponseInfo& info);
  void inflate(std::string_view bytes);
  void fail(core::Failure fault);
  void end_quietly();

  HttpPool& pool_;
  HttpRequest request_;
  MemoryCharge held_{Held::bodies};  // the body, until it cannot be needed for a repetition
  HttpTransferCallbacks* owner_;
  std::unique_ptr<HttpConnection> connection_;
  bool reused_ = false;
  bool sent_ = false;
  bool closed_ = false;
  bool waits_ = false;  // for credentials
  bool trusted_ = true;
  bool quiet_ = false;         // the rest is discarded
  std::string authorization_;  // as sent, if it is Lineward's own
  uint32_t refusals_ = 0;
  uint32_t redirects_ = 0;
  std::unique_ptr<BodyInflater> inflater_;
  bool is_repeated_ = false;     // on another connection, once
  bool is_given_away_ = false;   // its body cannot be sent again
  bool is_servers_own_ = false;  // addressed to the server's own target before a redirect
  bool is_for_all_ = true;       // so far its redirects hold for other requests too
  bool is_stream_ = false;
  size_t inflated_ = 0;  // bytes of a body that is not a stream
  size_t quiet_bytes_ = 0;
  std::unique_ptr<net::Timer> patience_;
  net::Deferred connected_later_;
  net::Lifetime lifetime_;
};

struct PoolOptions {
  size_t worker = 0, workers = 1;  // that have a pool for the server, and divide its connections
  std::chrono::milliseconds connect_timeout{5000};
  size_t idle_connections = 64;
  std::chrono::milliseconds idle_timeout{4000};  // if the server does not specify one
  size_t most_connections = 10000;
  std::optional<HttpProxy> proxy;
  net::ResolverOptions resolver;  // idle connections are compared with its answers at each lookup
  http::ResponseLimits limits;
  config::ServerHttp2 http2 = config::ServerHttp2::never;
  std::chrono::milliseconds quiet{5000};           // of a shared connection: Http2Link::Parts
  metrics::UpstreamStats* stats = nullptr;         // counts broken messages; may be null
  std::string address;                             // of the host; empty: all that its name has
  std::shared_ptr<UselessMessages> useless = {};   // shared with other pools; null: its own
  void take_limits(const config::Server& server);  // all but the proxy
};

// From the configuration and, for the proxy, the environment.
Result<PoolOptions> pool_options(const config::Server& server, const HttpUrl& url);

class HttpPool {
 public:
  HttpPool(net::Loop& loop, const HttpUrl& url, std::shared_ptr<net::TlsContext> tls, PoolOptions options);
  ~HttpPool();
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  net::Loop& loop() { return loop_; }
  const HttpUrl& url() const { return url_; }
  size_t idle() const { return idle_.size() + (http2_ ? http2_->idle() : 0); }
  void count(metrics::MessageError error) {
    if (options_.stats != nullptr) options_.stats->message_error(error);
  }
  void count(const mcp::MessageFault& fault) {
    if (options_.stats != nullptr) options_.stats->message_error(fault);
  }
  // Logs that something of the server's was dropped, at a limited rate.
  void log_dropped(std::string_view kind, std::string_view id = {});
  // The server sent something that is of no use to any client. A stream compares the count before and after
  // it passes a message on.
  void note_useless() { ++useless_->count; }
  uint64_t useless() const { return useless_->count; }
  // The server's name; empty if there is none.
  std::string_view server() const {
    return options_.stats != nullptr ? std::string_view(options_.stats->name) : std::string_view();
  }
  // Before the first request; must outlive the pool.
  void observe(PoolObserver& observer) { observer_ = &observer; }
  // There is no connection, and nothing waits for one.
  bool is_unused() const {
    return *open_ == 0 && waiting_ == 0 && streams_.is_unused() && !(http2_ && http2_->is_waiting());
  }
  // Follows redirects 307 and 308 to the same origin, and accepts gzip and deflate.
  void be_liberal() { liberal_ = true; }
  // Before the first request; must outlive the pool's transfers.
  void use(RequestCredentials& credentials) { credentials_ = &credentials; }
  // Limits for later requests; the proxy stays.
  void set_limits(const config::Server& server);
  // The limiter of connections that are streams without an end of their own.
  StreamLimiter& streams() { return streams_; }
  // The connection limit is reached, and no connection is idle. Only the owner enforces it; `freed` notifies
  // the owner when that is over, or may be.
  bool full() const { return is_at_limit() && idle_.empty() && !(http2_ && http2_->has_room()); }
  void on_freed(std::function<void()> freed) { freed_ = std::move(freed); }
  // Closes idle connections, and those about to become idle.
  void close_idle();

  // For Http2Links.
  const http::ResponseLimits& limits() const { return options_.limits; }
  std::chrono::milliseconds idle_timeout() const { return options_.idle_timeout; }
  std::chrono::milliseconds quiet() const { return options_.quiet; }
  size_t most_idle() const { return options_.idle_connections; }
  bool is_at_limit() const { return *open_ >= options_.most_connections; }
  void start(HttpConnection& connection);
  // A request finds a stream again, or an idle connection.
  void on_room();
  void note_link(int more);
  void note_request() {
    if (options_.stats != nullptr) ++options_.stats->http2_streams;
  }

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
  // The target of requests without one: the URL's, or the server's redirect.
  const std::string& target() const { return moved_.empty() ? url_.target : moved_; }
  void moved_to(std::string target);
  void append_start(std::string& head, std::string_view method, std::string_view target,
                    std::string_view host) const;
  std::string render_head(const HttpRequest& request, const std::string& authorization) const;

  net::Loop& loop_;
  const HttpUrl& url_;
  std::shared_ptr<net::TlsContext> tls_;
  PoolOptions options_;
  const bool by_url_;  // through a proxy that needs the whole URL (RFC 9112 3.2.2)
  bool liberal_ = false;
  std::string moved_;                        // the target of a redirect
  std::string post_start_;                   // of a usual request's head
  std::unique_ptr<net::Resolver> resolver_;  // null for a Unix socket
  std::vector<Idle> idle_;                   // most recently used last
  std::vector<std::unique_ptr<HttpTransfer>> finishing_;
  size_t waiting_ = 0;  // transfers that wait for credentials
  const std::shared_ptr<UselessMessages> useless_;
  PoolObserver* observer_ = nullptr;
  RequestCredentials* credentials_ = nullptr;
  net::Timer sweeper_;
  std::chrono::milliseconds refreshed_{0};
  bool refreshing_ = false;
  StreamLimiter streams_{loop_};
  std::shared_ptr<size_t> open_ = std::make_shared<size_t>(0);  // number of connections
  std::function<void()> freed_;
  std::unique_ptr<Http2Links> http2_;  // null: never
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream

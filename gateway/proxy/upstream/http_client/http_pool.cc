#include "proxy/upstream/http_client/http_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/string_pool.h"
#include "foundation/log/log.h"
#include "protocol/http/header_list.h"
#include "proxy/upstream/http_client/body_inflater.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/http_client/request_secrets.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// Limits on reading the rest of a response that is discarded.
constexpr milliseconds kQuietTime{1000};
constexpr size_t kQuietBytes = 64 * 1024;
constexpr size_t kMaxFinishing = 64;
constexpr uint32_t kMaxRefusals = 2;   // of credentials, for one request
constexpr uint32_t kMaxRedirects = 3;  // likewise
// A longer request on a new connection is not kept until its response arrives, unless it is a stream.
constexpr size_t kRepeatable = 64 * 1024;
constexpr milliseconds kSweepEvery{1000};

// Whether a redirect holds for requests of all callers: one to the same path with another slash at its end,
// or a permanent one. A query may be one caller's.
bool is_lasting(int status, std::string_view configured, std::string_view target) {
  const auto path = [](std::string_view text) {
    text = text.substr(0, text.find('?'));
    while (text.size() > 1 && text.back() == '/')
      text.remove_suffix(1);
    return text;
  };
  const auto query = [](std::string_view text) { return text.substr(std::min(text.find('?'), text.size())); };
  return query(configured) == query(target) && (status == 308 || path(configured) == path(target));
}

}  // namespace

SharedHeaders::SharedHeaders(std::vector<http::OutHeader> headers) : headers_(std::move(headers)) {
  for (const http::OutHeader& header : headers_)
    http::append_field(lines_, header.name, header.value);
}

// ---- a transfer ----

HttpTransfer::HttpTransfer(HttpPool& pool, HttpRequest&& request, HttpTransferCallbacks& owner)
    : pool_(pool),
      request_(std::move(request)),
      owner_(&owner),
      connected_later_(
          pool.loop(),
          [](void* self) {
            auto* transfer = static_cast<HttpTransfer*>(self);
            if (!transfer->closed_ && transfer->reused_ && !transfer->sent_) transfer->on_connected();
          },
          this) {
  held_.set(request_.body.size());
  bool missing =
      pool_.credentials_ != nullptr && pool_.credentials_->state() == RequestCredentials::State::missing;
  if (missing) {
    await_credentials();
  } else {
    begin(false);
  }
}

HttpTransfer::~HttpTransfer() {
  close();
  StringPool::give(std::move(request_.body));
  StringPool::give(std::move(request_.lines));
}

void HttpTransfer::await_credentials() {
  lifetime_.renew();  // a single callback is awaited
  if (!std::exchange(waits_, true)) ++pool_.waiting_;
  pool_.credentials_->fetch(lifetime_.guard([this](const std::string& fault) {
    if (closed_) return;
    stop_waiting();
    if (fault.empty()) return begin(false);
    closed_ = true;
    owner_->on_transfer_failed(
        {.reason = mcp::EndReason::upstream_unreachable, .text = fault, .nothing_sent = true});
  }));
}

void HttpTransfer::stop_waiting() {
  if (std::exchange(waits_, false)) --pool_.waiting_;
}

// The server refuses the credentials and has not processed the request: it is repeated with new ones, a few
// times.
bool HttpTransfer::ask_again(const http::ResponseInfo& info) {
  if (refusals_ >= kMaxRefusals || !pool_.credentials_->refused(authorization_, info)) return false;
  ++refusals_;
  say_again();
  return true;
}

void HttpTransfer::say_again() {
  connection_->close();
  pool_.loop().retire(std::move(connection_));
  sent_ = is_repeated_ = false;
  const bool missing =
      pool_.credentials_ != nullptr && pool_.credentials_->state() == RequestCredentials::State::missing;
  missing ? await_credentials() : begin(false);
}

// The server redirects the request to another of its paths, and has not processed it (RFC 9110 15.4.8 and
// 15.4.9). True: it was sent there.
bool HttpTransfer::follow(const http::ResponseInfo& info) {
  const bool says_where = info.status == 307 || info.status == 308;
  if (!pool_.liberal_ || !says_where || is_given_away_ || redirects_ >= kMaxRedirects ||
      !request_.host.empty())
    return false;
  if (info.headers.count("Location") != 1) return false;
  HttpUrl from = pool_.url_;
  from.target = request_.target.empty() ? pool_.target() : request_.target;
  auto target = resolve_target(from, info.headers.get("Location"));
  if (!target || *target == from.target) return false;
  if (redirects_++ == 0) is_servers_own_ = request_.target.empty();
  if (is_servers_own_) is_for_all_ = is_for_all_ && is_lasting(info.status, pool_.url_.target, *target);
  if (is_servers_own_ && is_for_all_) pool_.moved_to(*target);
  request_.target = std::move(*target);
  say_again();
  return true;
}

void HttpTransfer::fail(core::Failure fault) {
  close();
  owner_->on_transfer_failed(fault);
}

// Each inflated piece of a stream is bounded like a message, and any other body as a whole.
void HttpTransfer::inflate(std::string_view bytes) {
  const uint64_t most = pool_.options_.limits.body_bytes;
  std::string out;
  switch (inflater_->add(bytes, most - std::min<uint64_t>(most, inflated_), out)) {
    case BodyInflater::Result::ok: break;
    case BodyInflater::Result::broken:
      return fail({mcp::EndReason::upstream_protocol, "sent a compressed response that is broken"});
    case BodyInflater::Result::too_long: {
      core::Failure fault{
          mcp::EndReason::upstream_protocol,
          fmt::format("sent a compressed response of more than {} bytes (limits.maxMessageBytes)", most)};
      fault.oversize = true;
      return fail(std::move(fault));
    }
  }
  if (!is_stream_) inflated_ += out.size();
  if (!out.empty()) owner_->on_transfer_body(out);
}

void HttpTransfer::begin(bool fresh) {
  if (!fresh) connection_ = pool_.take_idle();
  reused_ = connection_ != nullptr;
  if (!connection_) connection_ = pool_.open();
  connection_->set_owner(this);
  if (!reused_) return;
  // Deferred even for an existing connection: no callback from inside a constructor.
  connected_later_.schedule();
}

void HttpTransfer::on_connected() {
  sent_ = true;
  RequestCredentials* credentials = pool_.credentials_;
  if (credentials != nullptr) authorization_ = credentials->authorization();
  std::string head = pool_.render_head(request_, authorization_);
  connection_->send(std::move(head), request_.body);
  const bool may_be_redirected = pool_.liberal_ && request_.body.size() <= kRepeatable;
  if (!reused_ && credentials == nullptr && !may_be_redirected && !connection_->is_shared()) {
    is_given_away_ = true;
    StringPool::give(std::move(request_.body));  // it cannot be needed for a repetition
    held_.set(0);
  }
  owner_->on_transfer_sent();
}

void HttpTransfer::on_request_drained() {
  if (!quiet_) owner_->on_transfer_drained();
}

void HttpTransfer::on_response_head(const http::ResponseInfo& info) {
  if (quiet_) return;
  if (pool_.credentials_ != nullptr && (info.status == 401 || info.status == 403)) {
    if (ask_again(info)) return;
    if (info.status == 401) {
      // Lineward must handle this, not the client, which would start looking for a token of its own.
      close();
      return owner_->on_transfer_failed(
          {mcp::EndReason::upstream_unreachable, "refuses the access token that Lineward got (401)"});
    }
  }
  if (follow(info)) return;
  if (pool_.observer_ != nullptr) pool_.observer_->on_response(info);
  if (redirects_ == 0 && request_.target.empty() && info.status == 404) pool_.moved_to({});
  StringPool::give(std::move(request_.body));  // it cannot be needed for a repetition
  held_.set(0);
  if (pool_.liberal_) inflater_ = BodyInflater::for_coding(info.headers.get("Content-Encoding"));
  owner_->on_transfer_head(info);
}

void HttpTransfer::on_response_body(std::string_view bytes) {
  if (!quiet_) return inflater_ ? inflate(bytes) : owner_->on_transfer_body(bytes);
  quiet_bytes_ += bytes.size();
  if (quiet_bytes_ > kQuietBytes) end_quietly();
}

void HttpTransfer::on_response_complete() {
  if (inflater_ && !quiet_ && !inflater_->finish())
    return fail({mcp::EndReason::upstream_protocol, "sent a compressed response that was cut off"});
  auto connection = std::move(connection_);
  connection->set_owner(nullptr);
  closed_ = true;
  if (!quiet_) owner_->on_transfer_complete();  // may call distrust()
  if (trusted_ && connection->reusable()) {
    pool_.give_back(std::move(connection));
  } else {
    connection->close();
    pool_.loop().retire(std::move(connection));
  }
  if (quiet_) end_quietly();
}

void HttpTransfer::on_connection_failed(const core::Failure& fault) {
  // The server closed the idle connection just before its reuse, or did not take the request.
  const bool may_repeat = (reused_ && fault.nothing_sent) || connection_->is_unprocessed();
  const bool was_held_back = is_held_back();
  pool_.loop().retire(std::move(connection_));
  pool_.look_again();
  if (quiet_) return end_quietly();
  if (may_repeat && !std::exchange(is_repeated_, true)) {
    sent_ = false;
    return begin(true);
  }
  closed_ = true;
  if (pool_.observer_ != nullptr && !is_stream_ && !was_held_back) pool_.observer_->on_broken(fault);
  owner_->on_transfer_failed(fault);
}

std::string HttpTransfer::without_credentials(std::string text) const {
  return redacted(text, request_, pool_.target(), authorization_);
}

void HttpTransfer::unlimited_body() {
  is_stream_ = true;
  if (connection_) connection_->unlimited_body();
}

void HttpTransfer::close() {
  stop_waiting();
  if (connection_) {
    connection_->close();
    pool_.loop().retire(std::move(connection_));
  }
  closed_ = true;
}

void HttpTransfer::finish_quietly(std::unique_ptr<HttpTransfer> transfer) {
  HttpPool& pool = transfer->pool_;
  // An unsent request has no response to finish.
  if (transfer->closed_ || !transfer->sent_ || pool.finishing_.size() >= kMaxFinishing) {
    transfer->close();
    return pool.loop().retire(std::move(transfer));
  }
  transfer->quiet_ = true;
  transfer->resume();
  transfer->owner_ = nullptr;
  transfer->patience_ = std::make_unique<net::Timer>(pool.loop());
  transfer->patience_->start(kQuietTime, [t = transfer.get()] { t->end_quietly(); });
  pool.let_finish(std::move(transfer));
}

void HttpTransfer::end_quietly() {
  patience_->stop();
  close();
  pool_.finished(*this);
}

void PoolOptions::take_limits(const config::Server& server) {
  // Together the workers have exactly as many.
  const auto part_of = [this](size_t most) { return most / workers + (worker < most % workers ? 1 : 0); };
  connect_timeout = server.timeouts.connect;
  idle_connections = part_of(server.limits.idle_connections);
  idle_timeout = server.limits.idle_timeout;
  most_connections = part_of(server.limits.max_connections);
  limits.head_bytes = server.limits.max_head_bytes;
  limits.body_bytes = server.limits.max_message_bytes;
}

Result<PoolOptions> pool_options(const config::Server& server, const HttpUrl& url) {
  PoolOptions options;
  options.take_limits(server);
  auto proxy = choose_proxy(url, server.proxy, process_environment());
  if (!proxy) return Unexpected<Error>{proxy.error()};
  options.proxy = *proxy;
  options.http2 = server.http2;
  const bool by_alpn = options.http2 == config::ServerHttp2::automatic;
  if (!url.tls && by_alpn) options.http2 = config::ServerHttp2::never;
  if (!url.tls && options.proxy && options.http2 == config::ServerHttp2::always)
    return ::lineward::fail("http2: on: a proxy speaks HTTP/1.1 for an http:// URL");
  return options;
}

// ---- the pool ----

HttpPool::HttpPool(net::Loop& loop, const HttpUrl& url, std::shared_ptr<net::TlsContext> tls,
                   PoolOptions options)
    : loop_(loop),
      url_(url),
      tls_(std::move(tls)),
      options_(std::move(options)),
      by_url_(options_.proxy && !tls_),
      useless_(options_.useless ? options_.useless : std::make_shared<UselessMessages>()),
      sweeper_(loop) {
  append_start(post_start_, "POST", {}, {});
  streams_.share_of(options_.most_connections);
  if (options_.http2 != config::ServerHttp2::never)
    http2_ = std::make_unique<Http2Links>(*this, options_.http2);
  if (options_.proxy) {
    resolver_ =
        std::make_unique<net::Resolver>(loop, options_.proxy->host, options_.proxy->port, options_.resolver);
  } else if (url.unix_path.empty()) {
    const std::string& host = options_.address.empty() ? url.host : options_.address;
    resolver_ = std::make_unique<net::Resolver>(loop, host, url.port, options_.resolver);
  }
  refreshed_ = loop.now();
}

HttpPool::~HttpPool() {
  lifetime_.end();
  close_idle();
  finishing_.clear();
  http2_.reset();
}

void HttpPool::set_limits(const config::Server& server) {
  options_.take_limits(server);
  streams_.share_of(options_.most_connections);
}

void HttpPool::log_dropped(std::string_view kind, std::string_view id) {
  note_useless();
  const auto left_out = useless_->log.next(loop_.now());
  if (!left_out) return;
  log::write(log::Level::info, "upstream.dropped",
             {{"upstream", server()},
              {"kind", kind},
              {"id", log::short_id(id)},
              {"left_out", *left_out == 0 ? std::string() : std::to_string(*left_out)}});
}

void HttpPool::close_idle() {
  for (auto& entry : idle_) {
    entry.connection->close();
    loop_.retire(std::move(entry.connection));
  }
  idle_.clear();
  sweeper_.stop();
  if (http2_) http2_->close_idle();
  std::vector<std::unique_ptr<HttpTransfer>> finishing;
  finishing.swap(finishing_);
  for (auto& transfer : finishing) {
    transfer->close();
    loop_.retire(std::move(transfer));
  }
}

std::unique_ptr<HttpConnection> HttpPool::take_idle() {
  refresh_addresses();
  if (http2_) {
    if (auto stream = http2_->take()) {
      auto connection = std::make_unique<HttpConnection>(loop_, url_, options_.limits);
      connection->attach(std::move(stream));
      return connection;
    }
  }
  while (!idle_.empty()) {
    Idle entry = std::move(idle_.back());
    idle_.pop_back();
    entry.connection->when_lost(nullptr);
    // The end of the connection would have been seen in a later turn; only bytes that came with its last
    // answer must be checked for.
    const bool watched = loop_.settled() && loop_.turn() > entry.since && entry.connection->connected();
    if (entry.until > loop_.now() && (watched || entry.connection->quiet()))
      return std::move(entry.connection);
    entry.connection->close();
    loop_.retire(std::move(entry.connection));
  }
  return nullptr;
}

std::unique_ptr<HttpConnection> HttpPool::open() {
  auto connection = std::make_unique<HttpConnection>(loop_, url_, options_.limits);
  if (http2_) connection->use(*http2_);
  if (http2_ && http2_->park(*connection)) {
    connection->wait(options_.connect_timeout);
  } else {
    start(*connection);
  }
  return connection;
}

void HttpPool::start(HttpConnection& connection) {
  ++*open_;
  connection.hold(std::shared_ptr<void>(nullptr, [this, open = open_, watch = lifetime_.watch()](void*) {
    size_t before = (*open)--;
    if (!watch.gone() && before >= options_.most_connections && freed_) loop_.defer(freed_);
  }));
  const HttpProxy* proxy = options_.proxy ? &*options_.proxy : nullptr;
  connection.connect(resolver_.get(), proxy, tls_, options_.connect_timeout);
}

void HttpPool::on_room() {
  if (is_at_limit() && freed_) loop_.defer(freed_);
}

void HttpPool::note_link(int more) {
  if (options_.stats != nullptr) options_.stats->http2_connections += static_cast<uint64_t>(more);
}

void HttpPool::give_back(std::unique_ptr<HttpConnection> connection) {
  milliseconds until = loop_.now() + connection->idle_limit().value_or(options_.idle_timeout);
  if (idle_.size() >= options_.idle_connections || until <= loop_.now()) {
    connection->close();
    return loop_.retire(std::move(connection));
  }
  HttpConnection* kept = connection.get();
  kept->when_lost([this, kept] {
    look_again();
    drop(*kept);
  });
  idle_.push_back({std::move(connection), until, loop_.turn()});
  if (!sweeper_.running()) sweeper_.start(kSweepEvery, [this] { sweep(); });
  on_room();
}

// The server may have moved: its name is resolved again before the next connection.
void HttpPool::look_again() {
  if (resolver_) resolver_->forget();
}

void HttpPool::drop(const HttpConnection& connection) {
  auto found = std::find_if(idle_.begin(), idle_.end(),
                            [&](const Idle& entry) { return entry.connection.get() == &connection; });
  if (found == idle_.end()) return;
  found->connection->close();
  loop_.retire(std::move(found->connection));
  idle_.erase(found);
}

void HttpPool::sweep() {
  for (auto entry = idle_.begin(); entry != idle_.end();) {
    if (entry->until > loop_.now()) {
      ++entry;
      continue;
    }
    entry->connection->close();
    loop_.retire(std::move(entry->connection));
    entry = idle_.erase(entry);
  }
  if (!idle_.empty()) sweeper_.start(kSweepEvery, [this] { sweep(); });
}

// Connections to addresses that the name no longer has are not reused.
void HttpPool::refresh_addresses() {
  if (!resolver_ || refreshing_ || loop_.now() - refreshed_ < options_.resolver.young ||
      !resolver_->known().empty())
    return;
  refreshing_ = true;
  resolver_->ask([this](const Result<net::Addresses>& answer) {
    refreshing_ = false;
    refreshed_ = loop_.now();
    if (!answer) return;
    std::vector<const HttpConnection*> gone;
    for (const Idle& entry : idle_) {
      bool there = std::any_of(answer->begin(), answer->end(), [&](const net::Address& address) {
        return address.text == entry.connection->address();
      });
      if (!there) gone.push_back(entry.connection.get());
    }
    for (const HttpConnection* connection : gone)
      drop(*connection);
    if (http2_) http2_->keep(*answer);
  });
}

void HttpPool::let_finish(std::unique_ptr<HttpTransfer> transfer) {
  finishing_.push_back(std::move(transfer));
}

void HttpPool::finished(HttpTransfer& transfer) {
  auto found =
      std::find_if(finishing_.begin(), finishing_.end(), [&](const auto& t) { return t.get() == &transfer; });
  if (found == finishing_.end()) return;
  loop_.retire(std::move(*found));
  finishing_.erase(found);
}

// Stored for all requests: a server that redirects `/mcp` to `/mcp/` does so each time.
void HttpPool::moved_to(std::string target) {
  if (moved_ == target) return;
  moved_ = std::move(target);
  post_start_.clear();
  append_start(post_start_, "POST", {}, {});
}

// Up to the request's own headers. An empty target or host is the URL's.
void HttpPool::append_start(std::string& head, std::string_view method, std::string_view target,
                            std::string_view host) const {
  head += method;
  head += ' ';
  if (by_url_) {
    head += "http://";
    head += url_.host_header;
  }
  head += target.empty() ? std::string_view(this->target()) : target;
  head += " HTTP/1.1\r\nHost: ";
  head += host.empty() ? std::string_view(url_.host_header) : host;
  head += "\r\n";
  if (by_url_ && !options_.proxy->authorization.empty())
    http::append_field(head, "Proxy-Authorization", options_.proxy->authorization);
}

std::string HttpPool::render_head(const HttpRequest& request, const std::string& authorization) const {
  const bool post = request.method == "POST";
  std::string out = StringPool::take(512 + request.body.size());  // with room for the body
  if (post && request.target.empty() && request.host.empty()) {
    out += post_start_;
  } else {
    append_start(out, request.method, request.target, request.host);
  }
  auto append_all = [&](const std::vector<http::OutHeader>& headers) {
    for (const http::OutHeader& header : headers) {
      const bool replaced =
          !authorization.empty() && http::equals_ignoring_case(header.name, "Authorization");
      if (!replaced) http::append_field(out, header.name, header.value);
    }
  };
  if (request.shared_headers != nullptr && authorization.empty()) {
    out += request.shared_headers->lines();
  } else if (request.shared_headers != nullptr) {
    append_all(request.shared_headers->all());
  }
  append_all(request.headers);
  if (!authorization.empty()) http::append_field(out, "Authorization", authorization);
  out += request.lines;
  // A framed body follows the head.
  if (post || !request.body.empty()) http::append_length(out, request.body.size());
  out += "\r\n";
  return out;
}

}  // namespace lineward::upstream

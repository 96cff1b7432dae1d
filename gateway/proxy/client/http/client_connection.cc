#include "proxy/client/http/client_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "config/load_levels.h"
#include "foundation/log/log.h"
#include "protocol/http/writer.h"
#include "protocol/mcp/errors.h"
#include "proxy/client/http/cors.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {
namespace {

using Phase = http::RequestParser::Phase;
using Next = http::RequestParser::Next;

// Pipelined requests wait here; a client that sends more is cut. Reading never stops while a request is being
// answered, or a disconnect would not be seen.
constexpr size_t kMaxPipelined = 256 * 1024;
// No further request is started while this much of earlier answers is unsent.
constexpr size_t kMaxUnsent = 64 * 1024;
// Requests that one connection may begin in one turn of the loop, for fairness to other clients. Each may be
// begun twice, with its head and with its body.
constexpr size_t kBegunPerTurn = 32;
// After the last answer the client gets this time to close, so that a reset does not destroy the answer.
constexpr std::chrono::milliseconds kLinger{2000};
// An idle connection keeps what it knows of its last head for this time.
constexpr std::chrono::milliseconds kRestsAfter{5000};
// With more parsers than these in use, it keeps that hardly longer than a call takes. Their memory, 2 KiB
// each, would go back to the heap one by one, between objects that stay.
constexpr size_t kManyParsers = 256;
constexpr std::chrono::milliseconds kRestsSoonAfter{10};

http::RequestLimits request_limits(const config::Listen& limits) {
  http::RequestLimits out;
  out.head_bytes = limits.max_head_bytes;
  out.fields = limits.max_fields;
  out.body_bytes = limits.max_body_bytes;
  return out;
}

// The option by which the parser refused; the length limit of a target has no option.
std::optional<metrics::Limit> limit_of(const Error& fault) {
  const bool fields = fault.text.find("header fields") != std::string::npos;
  if (fault.code == 413) return metrics::Limit::body_bytes;
  if (fault.code == 431) return fields ? metrics::Limit::fields : metrics::Limit::head_bytes;
  return std::nullopt;
}

// Counts the limit, and adds its name to the text.
Error by_limit(metrics::Limit limit, Error fault) {
  metrics::limit_reached(limit);
  fault.text += fmt::format(" ({})", metrics::kLimitNames[static_cast<size_t>(limit)]);
  return fault;
}

Error too_late(const config::Listen& limits, Phase phase) {
  const bool head = phase == Phase::in_head;
  const std::chrono::milliseconds limit = head ? limits.head_timeout : limits.read_timeout;
  return by_limit(head ? metrics::Limit::head_timeout : metrics::Limit::read_timeout,
                  {.text = fmt::format("the request {} was not complete within {} ms", head ? "head" : "body",
                                       limit.count()),
                   .code = 408});
}

void count_request(const http::RequestHead& head, int status, std::chrono::milliseconds took) {
  --metrics::stats().http_active;
  metrics::stats().http_requests.observe(head.method, status, std::chrono::duration<double>(took).count());
}

}  // namespace

ClientConnection::ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                                   std::unique_ptr<net::Stream> stream, std::string peer)
    : loop_(loop),
      limits_(limits),
      handler_(handler),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      parser_(request_limits(limits)),
      timer_(loop),
      pump_later_(
          loop, [](void* self) { static_cast<ClientConnection*>(self)->pump(); }, this) {
  is_stream_ = stream_->is_multiplexed();
  is_secure_ = stream_->tls() != nullptr;
  stream_->set_owner(this);
  use_account(account_now());
  stream_->start_reading();
  if (is_stream_) use_certificate();
  if (is_stream_ || !is_secure_) {
    arm();
    return;
  }
  idle_at_ = loop_.now();
  timer_.start(limits_.head_timeout, [this] {
    metrics::limit_reached(metrics::Limit::head_timeout);
    note_tls_failure(fmt::format("the handshake was not complete within {} ms (listen.headTimeout)",
                                 limits_.head_timeout.count()));
    close();
  });
}

// The time of the head begins with its first byte.
void ClientConnection::on_secured() {
  use_certificate();
  const bool resumed = stream_->tls()->is_resumed();
  ++metrics::stats().tls_handshakes[static_cast<size_t>(resumed ? metrics::TlsHandshake::resumed
                                                                : metrics::TlsHandshake::full)];
  if (stream_->tls()->protocol() == "h2") return handler_.on_http2(*this, {});
  arm();
}

void ClientConnection::use_certificate() {
  x509_st* shown = stream_->tls() != nullptr ? stream_->tls()->client_certificate() : nullptr;
  if (shown != nullptr) certificate_ = std::make_unique<ClientCertificate>(shown);
}

// Counted each, logged at powers of two: a flood must not become a flood of log lines.
void ClientConnection::note_tls_failure(const std::string& why) {
  const uint64_t count =
      ++metrics::stats().tls_handshakes[static_cast<size_t>(metrics::TlsHandshake::failed)];
  if ((count & (count - 1)) != 0) return;  // counts 1, 2, 4, 8 …
  log::write(log::Level::warn, "tls.failed", {{"why", why}, {"count", count}, {"remote", peer_}});
}

ClientConnection::ClientConnection(net::Loop& loop, const config::Listen& limits, RequestHandler& handler,
                                   std::unique_ptr<net::Stream> stream, MovedConnection moved)
    : loop_(loop),
      limits_(limits),
      handler_(handler),
      stream_(std::move(stream)),
      peer_(std::move(moved.peer)),
      parser_(std::move(moved.parser)),
      certificate_(std::move(moved.certificate)),
      sharing_(moved.sharing),
      end_(std::move(moved.end)),
      timer_(loop),
      has_head_(true),
      has_moved_(true),
      is_stream_(moved.is_stream),
      is_secure_(moved.is_secure),
      passed_port_(moved.local_port),
      preface_(kOtherBytes),
      pump_later_(
          loop, [](void* self) { static_cast<ClientConnection*>(self)->pump(); }, this) {
  stream_->set_owner(this);
  use_account(account_now());
  if (!is_stream_) use_certificate();
  stream_->start_reading();
  pump_later_.schedule();
}

std::optional<MovedConnection> ClientConnection::move_away() {
  std::unique_ptr<net::TlsSession> session;
  const uint16_t port = is_stream_ ? local_port() : 0;
  const int socket = stream_->detach(&session);
  if (socket < 0) return std::nullopt;
  loop_.retire(std::move(stream_));
  timer_.stop();
  pump_later_.cancel();
  held_.set(0);
  MovedConnection moved(socket, std::move(session), std::move(parser_), std::move(peer_), sharing_, end_);
  if (is_stream_) moved.certificate = std::move(certificate_);
  moved.is_stream = is_stream_;
  moved.is_secure = is_secure_;
  moved.local_port = port;
  return moved;
}

std::unique_ptr<net::Stream> ClientConnection::take_stream() {
  timer_.stop();
  pump_later_.cancel();
  held_.set(0);
  return std::move(stream_);
}

ClientConnection::~ClientConnection() {
  lifetime_.end();
  if (reply_ != nullptr) std::exchange(reply_, nullptr)->client_left(mcp::EndReason::cancelled_client);
}

void ClientConnection::use_account(AccountPtr account) {
  account_ = std::move(account);
  held_.charge(account_);
  if (stream_) stream_->charge(account_);
}

void ClientConnection::use_caller(core::CallerPtr caller) {
  const bool same = caller == caller_ || (caller && caller_ && caller->principal == caller_->principal);
  caller_ = std::move(caller);
  if (!same) use_account(account_now());
}

const AccountPtr& ClientConnection::account_now() {
  if (!caller_ || core::is_anonymous(caller_->principal)) {
    if (!address_account_) address_account_ = account_of(nullptr, client());
    return address_account_;
  }
  const bool last =
      last_caller_ && (last_caller_ == caller_ || last_caller_->principal == caller_->principal);
  if (!last) {
    caller_account_ = account_of(caller_, client());
    last_caller_ = caller_;
  }
  return caller_account_;
}

void ClientConnection::use_client(std::string_view address) {
  if (address == client_) return;
  client_ = address;
  address_account_ = nullptr;
  use_account(account_now());
}

std::optional<std::chrono::milliseconds> ClientConnection::idle_for() const {
  if (!may_ask() || timed_ != Phase::idle || parser_.phase() != Phase::idle) return std::nullopt;
  return loop_.now() - idle_at_;
}

bool ClientConnection::may_keep_alive() const {
  return !unread_ && parser_.head().keep_alive && !handler_.draining();
}

void ClientConnection::on_data(std::string_view bytes) {
  metrics::stats().bytes(metrics::Side::client, bytes.size(), 0);
  if (lingering_) return;
  if (limits_.http2 && is_http2(bytes)) return;
  parser_.append(bytes);
  const auto watch = lifetime_.watch();
  if (!busy_ && !has_head_) {
    if (config::load_of(MemoryCharge::total(), limits_) >= config::Load::no_requests) {
      handler_.on_request_while_full();
      if (watch.gone() || !stream_) return;  // it may have been cut as a slow reader
    }
    pump();
  } else if (parser_.buffered() > kMaxPipelined) {
    return cut(mcp::EndReason::cancelled_client);
  }
  if (!watch.gone()) note_held();
}

// Whether the connection's first bytes are those of HTTP/2, with prior knowledge (RFC 9113, 3.3). They may
// come one by one: four of them are no request of HTTP/1.1 any more.
bool ClientConnection::is_http2(std::string_view bytes) {
  constexpr std::string_view kFirst = "PRI ";
  if (preface_ == kOtherBytes) return false;
  const size_t part = std::min(bytes.size(), kFirst.size() - preface_);
  if (is_stream_ || is_secure_ || bytes.substr(0, part) != kFirst.substr(preface_, part)) {
    preface_ = kOtherBytes;
    return false;
  }
  preface_ = static_cast<uint8_t>(preface_ + part);
  if (preface_ < kFirst.size()) return false;
  handler_.on_http2(*this, std::string(kFirst) + std::string(bytes.substr(part)));
  return true;
}

// Bodies in transit count as held; none may grow over the budget.
void ClientConnection::note_held() {
  held_.set(parser_.held());
  const config::Load load = config::load_of(MemoryCharge::total(), limits_);
  if (load >= config::Load::no_requests) handler_.on_full();
  if (busy_ || lingering_ || !stream_ || parser_.phase() != Phase::in_body) return;
  if (load >= config::Load::no_bodies && !config::has_room(load, parser_.held(), limits_)) {
    ++metrics::stats().overload[static_cast<size_t>(metrics::Overload::requests)];
    metrics::limit_reached(metrics::Limit::buffered_bytes);
    refuse({.text = "the gateway holds as much as it may (listen.maxBufferedBytes); try again later",
            .code = 503});
  } else if (!account_->has_room(0)) {
    ++metrics::stats().overload[static_cast<size_t>(metrics::Overload::principal)];
    metrics::limit_reached(metrics::Limit::buffered_bytes_per_principal);
    refuse({.text = "the gateway holds as much as it may for this caller "
                    "(listen.maxBufferedBytesPerPrincipal); try again later",
            .code = 503});
  }
}

void ClientConnection::on_end(int error) {
  // A client that disconnects, with FIN or RST, cancels its requests. Only an answer already being sent may
  // still reach a client that closed its own side.
  if (error == 0 && lingering_ && backlog() > 0) return;
  const net::TlsSession* session = is_stream_ || !stream_ ? nullptr : stream_->tls();
  if (session != nullptr && session->state() == net::TlsSession::State::failed)
    note_tls_failure(session->fault());
  // Its HTTP/2 connection has cut it.
  if (error == -ETIMEDOUT && is_stream_) return cut(mcp::EndReason::client_too_slow);
  note_client_end();
  close();
}

// A client that answers Lineward's end of the connection has not left.
void ClientConnection::note_client_end() {
  if (!is_stream_ && !ended_here_ && !handler_.draining()) end_->by_client(loop_.now());
}

void ClientConnection::on_drained() {
  if (!stream_) return;
  if (reply_ != nullptr) reply_->drained();
  if (lingering_) {
    timer_.start(kLinger, [this] {
      note_client_end();
      close();
    });
    return;
  }
  if (busy_ || pump_later_.scheduled()) return;
  // TLS may have sent something of its own: the time of a head or body runs on.
  if (timed_ == Phase::complete) pump();
}

// While an answer is being sent no other phase is timed; a client that reads nothing of it is cut.
void ClientConnection::watch_writes() {
  timed_ = Phase::complete;
  last_backlog_ = backlog();
  timer_.start(limits_.write_timeout, [this] {
    if (backlog() >= last_backlog_) {
      metrics::limit_reached(metrics::Limit::write_timeout);
      return close();
    }
    watch_writes();
  });
}

// The connection continues in the next turn; until then nothing more is read.
bool ClientConnection::had_its_turn() {
  if (begun_in_ != loop_.turn() || begun_ < kBegunPerTurn || parser_.buffered() == 0) return false;
  if (parser_.buffered() > kMaxPipelined) {
    stream_->pause_reading();
  } else {
    stream_->put_back({});
  }
  timed_ = Phase::complete;
  waits_for_turn_ = true;
  // Not 0: a zero timer would fire again before the loop has polled other connections.
  timer_.start(std::chrono::milliseconds(1), [this] {
    waits_for_turn_ = false;
    pump();
  });
  return true;
}

void ClientConnection::pump() {
  while (!busy_ && !lingering_ && stream_ && !waits_for_turn_) {
    if (backlog() > kMaxUnsent) {
      // No further answer before the client reads some of these; on_drained() continues.
      stream_->pause_reading();
      return watch_writes();
    }
    if (had_its_turn()) return;
    // Read even if the next request is buffered already: a disconnect is only seen by reading.
    if (!stream_->reading()) stream_->start_reading();
    Next next = has_head_ ? Next::head : parser_.next();
    if (next == Next::head) {
      has_head_ = true;
      const HeadVerdict verdict = handler_.on_head(*this);
      if (verdict == HeadVerdict::elsewhere) {
        if (stream_) watch_writes();  // it moves when its earlier answers are written
        return;
      }
      if (verdict == HeadVerdict::answered) return;
      has_head_ = unread_ = false;
      if (std::exchange(busy_, false)) --metrics::stats().http_active;
      if (verdict == HeadVerdict::invited && parser_.head().expect_continue)
        stream_->write("HTTP/1.1 100 Continue\r\n\r\n");
      continue;
    }
    if (next == Next::failed) {
      const Error& fault = parser_.fault();
      const std::optional<metrics::Limit> limit = limit_of(fault);
      return refuse(limit ? by_limit(*limit, fault) : fault);
    }
    if (next == Next::need_more) return arm();
    timer_.stop();
    timed_ = Phase::complete;
    begin();
    const auto watch = lifetime_.watch();
    std::string body = parser_.take_body();
    held_.set(parser_.held());  // the exchange counts the body from here on
    handler_.on_request(*this, std::move(body));
    if (watch.gone()) return;
  }
}

void ClientConnection::begin_head(std::string_view client) {
  has_head_ = has_moved_ = false;
  unread_ = true;
  begin();
  use_client(client);
  use_caller(nullptr);  // that of the previous request
}

void ClientConnection::begin() {
  busy_ = true;
  begun_ = std::exchange(begun_in_, loop_.turn()) == loop_.turn() ? begun_ + 1 : 1;
  request_at_ = loop_.now();
  sharing_.saw(head());
  ++metrics::stats().http_active;
}

void ClientConnection::add_headers(std::vector<http::OutHeader>& to) const {
  add_cors(to, parser_.head().headers, limits_);
}

void ClientConnection::arm() {
  Phase phase = parser_.phase();
  // The idle time begins when the answer is sent.
  if (phase == Phase::idle && backlog() > 0) return watch_writes();
  if (phase == timed_) return;  // the time runs from the phase's start, not from the last byte
  timed_ = phase;
  if (phase == Phase::idle) idle_at_ = loop_.now();
  std::chrono::milliseconds limit = limits_.idle_timeout;
  if (phase == Phase::idle && limit > kRestsAfter) {
    const bool many = http::RequestParser::in_use() > kManyParsers;
    return timer_.start(many ? kRestsSoonAfter : kRestsAfter, [this] { rest(); });
  }
  if (phase == Phase::in_head) limit = limits_.head_timeout;
  if (phase == Phase::in_body) limit = limits_.read_timeout;
  timer_.start(limit, [this] {
    if (timed_ == Phase::idle) return close();
    refuse(too_late(limits_, timed_));
  });
}

// The head of the last request is kept for the next one, unless that takes long to come.
void ClientConnection::rest() {
  parser_.rest();
  facts_ = HeadFacts();
  const std::chrono::milliseconds left = idle_at_ + limits_.idle_timeout - loop_.now();
  timer_.start(std::max(left, std::chrono::milliseconds(1)), [this] { close(); });
}

void ClientConnection::refuse(const Error& fault) {
  http::ResponseHead head;
  head.status = fault.code;
  head.keep_alive = false;
  head.content_type = "application/json";
  if (fault.code == 503) head.headers = {{"Retry-After", "1"}};
  // After a fault in the body, the head is complete and its headers can be used.
  if (fault.code == 413 || parser_.phase() == Phase::in_body) add_headers(head.headers);
  std::string response = http::full_response(head, mcp::error_message({}, fault.code, fault.text));
  metrics::stats().bytes(metrics::Side::client, 0, response.size());
  metrics::stats().http_requests.observe("", fault.code, 0);
  handler_.on_fault(*this, fault);
  ended_here_ = true;
  stream_->write(std::move(response));
  linger();
}

void ClientConnection::respond(int status, std::string_view content_type, const std::string& body,
                               std::vector<http::OutHeader> headers) {
  bool keep = may_keep_alive();
  http::ResponseHead head;
  head.status = status;
  head.keep_alive = keep;
  head.minor_version = parser_.head().minor_version;
  head.headers = std::move(headers);
  add_headers(head.headers);
  head.content_type = content_type;
  std::string response = http::full_response(head, body);
  // The head is that of the answer to GET, with its length (RFC 9110, 8.6 and 9.3.2).
  if (parser_.head().method == "HEAD") response.resize(response.size() - body.size());
  metrics::stats().bytes(metrics::Side::client, 0, response.size());
  stream_->write(std::move(response));
  reply_finished(keep, status);
}

void ClientConnection::write(std::string bytes) {
  if (!stream_) return;
  metrics::stats().bytes(metrics::Side::client, 0, bytes.size());
  stream_->write(std::move(bytes));
  if (config::load_of(MemoryCharge::total(), limits_) >= config::Load::no_requests) handler_.on_full();
}

void ClientConnection::reply_finished(bool keep_alive, int status) {
  reply_ = nullptr;
  if (busy_) count_request(head(), status, loop_.now() - request_at_);
  busy_ = false;
  if (!keep_alive || handler_.draining()) {
    ended_here_ = parser_.head().keep_alive || handler_.draining();
    return linger();
  }
  parser_.next_request();
  if (parser_.head().number != facts_.number) facts_ = HeadFacts();  // the head is too large to be cached
  pump_later_.schedule();  // the exchange just answered may be on the stack
}

void ClientConnection::reply_dropped() {
  reply_ = nullptr;
  close();
}

void ClientConnection::close_when_idle() {
  if (busy_ || lingering_ || parser_.phase() != Phase::idle) return;
  if (backlog() == 0) return close();
  // Its client still reads an answer.
  ended_here_ = true;
  linger();
}

void ClientConnection::cut(mcp::EndReason why) {
  ConnectionReply* reply = std::exchange(reply_, nullptr);
  close();
  if (reply != nullptr) reply->client_left(why);
}

// Sends what is queued and a FIN, then waits for the client to close.
void ClientConnection::linger() {
  if (lingering_ || !stream_) return;
  lingering_ = true;
  stream_->end_writes();
  if (!stream_->reading()) stream_->start_reading();
  if (backlog() > 0) return watch_writes();
  timer_.start(kLinger, [this] {
    note_client_end();
    close();
  });
}

void ClientConnection::close() {
  if (!stream_) return;
  // A stream that broke off before its end counts as 499, as in nginx.
  if (busy_) count_request(head(), 499, loop_.now() - request_at_);
  busy_ = false;
  if (!is_stream_) end_->by_gateway();  // unless its client closed it first
  timer_.stop();
  stream_->close();
  loop_.retire(std::move(stream_));
  if (reply_ != nullptr) std::exchange(reply_, nullptr)->client_left(mcp::EndReason::cancelled_client);
  handler_.on_client_left(*this);
}

}  // namespace lineward::client

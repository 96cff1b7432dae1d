#include "http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "http2_translation.h"
#include "unread.h"
#include "vanish.h"

namespace lineward::wire {
namespace {

using Clock = std::chrono::steady_clock;

int slice(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 50));
}

}  // namespace

HttpConnection::HttpConnection(const std::string& address, const std::string& from,
                               const std::optional<Tls>& tls, Hooks hooks)
    : hooks_(std::move(hooks)) {
  auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  if (colon == std::string::npos || inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
    throw WireError("'" + address + "' is not HOST:PORT with a numeric IPv4 host");
  }
  to.sin_port = htons(static_cast<uint16_t>(atoi(address.c_str() + colon + 1)));
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  if (!from.empty() && inet_pton(AF_INET, from.c_str(), &own.sin_addr) != 1)
    throw WireError("'" + from + "' is no numeric IPv4 address");
  const bool bound = from.empty() || bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own) == 0;
  if (fd_ < 0 || !bound || connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    auto why = std::string(strerror(errno));
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    throw WireError("cannot connect to " + address + ": " + why);
  }
  int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::string& first = hooks_.first;
  if (!first.empty() &&
      ::send(fd_, first.data(), first.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(first.size()))
    throw WireError("cannot send the first bytes");
  if (tls) begin_tls(*tls);
  if (hooks_.http2) http2_ = std::make_unique<Http2Translation>(tls ? "https" : "http");
}

HttpConnection::~HttpConnection() {
  close_fin();
  SSL_free(tls_);
  SSL_CTX_free(tls_context_);
}

void HttpConnection::begin_tls(const Tls& tls) {
  tls_context_ = SSL_CTX_new(TLS_client_method());
  if (!tls.pem.empty() && (SSL_CTX_use_certificate_chain_file(tls_context_, tls.pem.c_str()) != 1 ||
                           SSL_CTX_use_PrivateKey_file(tls_context_, tls.pem.c_str(), SSL_FILETYPE_PEM) != 1))
    throw WireError("'" + tls.pem + "' is no certificate with its key");
  SSL_CTX_set_mode(tls_context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  static constexpr unsigned char http2[] = {2, 'h', '2'};
  if (hooks_.http2) SSL_CTX_set_alpn_protos(tls_context_, http2, sizeof http2);
  tls_ = SSL_new(tls_context_);
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  SSL_set_fd(tls_, fd_);
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  for (int done = 0; (done = SSL_connect(tls_)) != 1;) {
    hooks_.idle();
    const int error = SSL_get_error(tls_, done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      const char* reason = ERR_reason_error_string(ERR_peek_error());
      throw WireError("the TLS handshake failed: " + std::string(reason ? reason : "the connection ended"));
    }
    pollfd fd{fd_, static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    poll(&fd, 1, slice(deadline));
    if (Clock::now() >= deadline) throw WireError("the TLS handshake takes too long");
  }
}

ssize_t HttpConnection::tls_result(int result) {
  if (result > 0) return result;
  const int error = SSL_get_error(tls_, result);
  const int cause = errno;
  ERR_clear_error();
  if (error == SSL_ERROR_ZERO_RETURN || (error == SSL_ERROR_SSL && cause == 0)) return 0;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
  return -1;
}

ssize_t HttpConnection::write_some(std::string_view bytes) {
  if (tls_ == nullptr) return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ERR_clear_error();
  return tls_result(SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())));
}

ssize_t HttpConnection::read_some(char* to, size_t size) {
  if (tls_ == nullptr) return recv(fd_, to, size, 0);
  ERR_clear_error();
  errno = 0;
  return tls_result(SSL_read(tls_, to, static_cast<int>(size)));
}

void HttpConnection::close_fin() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void HttpConnection::close_rst() {
  linger how{1, 0};
  if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &how, sizeof how);
  close_fin();
}

void HttpConnection::vanish() {
  if (fd_ >= 0) wire::vanish(fd_);
}

void HttpConnection::shutdown_write() {
  if (tls_ != nullptr && fd_ >= 0) {
    SSL_shutdown(tls_);
  } else if (fd_ >= 0) {
    ::shutdown(fd_, SHUT_WR);
  }
}

void HttpConnection::send(std::string_view bytes, size_t step, Deadline deadline) {
  hooks_.record('>', bytes);
  if (http2_ == nullptr) return write_all(bytes, step, deadline);
  if (fd_ < 0) throw WireError("the connection is closed on our side");
  http2_->send(bytes);
  write_frames(step, deadline);
  while (http2_->has_unsent() && fill(deadline)) {
  }
}

void HttpConnection::write_frames(size_t step, Deadline deadline) {
  write_all(http2_->take_frames(), step, deadline);
}

bool HttpConnection::leave_streams(Deadline deadline) {
  if (http2_ == nullptr || tls_ == nullptr || fd_ < 0) return false;
  http2_->reset_streams();
  write_frames(0, deadline);
  return true;
}

void HttpConnection::write_all(std::string_view bytes, size_t step, Deadline deadline) {
  while (!bytes.empty()) {
    hooks_.idle();
    if (fd_ < 0) throw WireError("the connection is closed on our side");
    if (Clock::now() >= deadline) throw WireError("could not send everything in time");
    pollfd fd{fd_, POLLOUT, 0};
    if (poll(&fd, 1, slice(deadline)) <= 0) continue;
    auto part = step ? bytes.substr(0, step) : bytes;
    ssize_t n = write_some(part);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return;  // the gateway may refuse early; its answer is still to be read
    bytes.remove_prefix(static_cast<size_t>(n));
    if (step) wait_until_read(deadline);
  }
}

void HttpConnection::wait_until_read(Deadline deadline) {
  while (has_unread(fd_)) {
    hooks_.idle();
    if (Clock::now() >= deadline) throw WireError("the gateway does not read what was sent");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

bool HttpConnection::fill(Deadline deadline) {
  if (end_) return false;
  if (fd_ < 0) throw WireError("the connection is closed on our side");
  char bytes[65536];
  ssize_t n = -1;
  for (;;) {
    hooks_.idle();
    pollfd fd{fd_, POLLIN, 0};
    if ((tls_ != nullptr && SSL_has_pending(tls_) == 1) || poll(&fd, 1, slice(deadline)) > 0) {
      n = read_some(bytes, sizeof bytes);
      if (n >= 0 || errno != EAGAIN) break;  // a part of a TLS record, or a session ticket
    }
    if (Clock::now() >= deadline) throw WireError("nothing more came in time");
  }
  if (n > 0 && http2_ != nullptr) {
    std::string text;
    http2_->receive({bytes, static_cast<size_t>(n)}, text);
    write_frames(0, deadline);
    if (!text.empty()) hooks_.record('<', text);
    in_ += text;
    if (!http2_->is_cut()) return true;
    end_ = reset_ = true;
    hooks_.record('<', "(its stream was reset)");
    return !text.empty();
  }
  if (n > 0) {
    hooks_.record('<', {bytes, static_cast<size_t>(n)});
    in_.append(bytes, static_cast<size_t>(n));
    return true;
  }
  end_ = true;
  reset_ = n < 0;
  hooks_.record('<', reset_ ? "(reset)" : "(closed)");
  return false;
}

std::string HttpConnection::read_exactly(size_t count, Deadline deadline) {
  while (in_.size() < count) {
    if (!fill(deadline)) throw WireError("the gateway closed the connection");
  }
  auto out = in_.substr(0, count);
  in_.erase(0, count);
  return out;
}

void HttpConnection::expect_end(Deadline deadline, bool any) {
  while ((any || in_.empty()) && fill(deadline)) {
    if (any) in_.clear();
  }
  if (any) in_.clear();
  if (!in_.empty()) throw WireError("expected the end of the connection; came " + in_.substr(0, 300));
}

std::string HttpConnection::anything(Deadline until) {
  while (in_.empty() && decoded_.empty()) {
    try {
      if (!fill(until)) return "(the end of the connection)";
    } catch (const WireError&) {
      return "";
    }
  }
  return decoded_.empty() ? in_ : decoded_;
}

bool HttpConnection::take_line(std::string& line, Deadline deadline) {
  size_t end;
  while ((end = in_.find('\n')) == std::string::npos) {
    if (!fill(deadline)) return false;
  }
  line = in_.substr(0, end);
  in_.erase(0, end + 1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

ResponseHead HttpConnection::read_head(Deadline deadline) {
  ResponseHead head;
  std::string line;
  decoded_.clear();
  do {
    head = {};
    if (!take_line(line, deadline))
      throw WireError(reset_ ? "the connection was reset" : "the gateway closed the connection");
    if (line.rfind("HTTP/1.", 0) != 0 || line.size() < 12) throw WireError("not a status line: " + line);
    head.status = atoi(line.c_str() + 9);
    while (take_line(line, deadline) && !line.empty()) {
      auto colon = line.find(':');
      if (colon == std::string::npos) throw WireError("not a header: " + line);
      auto name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      auto start = line.find_first_not_of(" \t", colon + 1);
      auto value = start == std::string::npos ? "" : line.substr(start);
      auto& slot = head.headers[name];
      slot = slot.empty() ? value : slot + ", " + value;
    }
  } while (head.status == 100);
  auto header = [&](const char* name) {
    auto found = head.headers.find(name);
    return found == head.headers.end() ? std::string() : found->second;
  };
  in_chunk_ = false;
  left_ = 0;
  if (head.status == 204 || head.status == 304 || head.status < 200) {
    body_ = Body::none;
  } else if (header("transfer-encoding").find("chunked") != std::string::npos) {
    body_ = Body::chunked;
  } else if (head.headers.count("content-length")) {
    body_ = Body::length;
    left_ = static_cast<size_t>(atoll(header("content-length").c_str()));
  } else {
    body_ = Body::until_close;
  }
  return head;
}

bool HttpConnection::more_body(Deadline deadline) {
  if (body_ == Body::none || (body_ == Body::length && left_ == 0)) return false;
  if (body_ == Body::chunked && left_ == 0) {
    std::string line;
    if (in_chunk_ && !take_line(line, deadline)) throw WireError("the connection ended within a chunk");
    if (!take_line(line, deadline)) throw WireError("the connection ended before the last chunk");
    auto [end, ec] = std::from_chars(line.data(), line.data() + line.size(), left_, 16);
    if (ec != std::errc{}) throw WireError("not a chunk size: " + line);
    in_chunk_ = true;
    if (left_ == 0) {
      while (take_line(line, deadline) && !line.empty()) {
      }
      body_ = Body::none;
      return false;
    }
  }
  if (in_.empty() && !fill(deadline)) {
    if (body_ == Body::until_close && !reset_) return false;
    throw WireError(reset_ ? "the connection was reset within a body" : "the connection ended within a body");
  }
  size_t part = body_ == Body::until_close ? in_.size() : std::min(left_, in_.size());
  decoded_ += in_.substr(0, part);
  in_.erase(0, part);
  if (body_ != Body::until_close) left_ -= part;
  return true;
}

std::string HttpConnection::read_body(Deadline deadline) {
  while (more_body(deadline)) {
  }
  return std::exchange(decoded_, {});
}

bool HttpConnection::body_line(std::string& line, Deadline deadline) {
  size_t end, seen = 0;
  while ((end = decoded_.find('\n', seen)) == std::string::npos) {
    seen = decoded_.size();
    if (!more_body(deadline)) {
      if (!decoded_.empty()) throw WireError("the stream ended within a line: " + decoded_);
      return false;
    }
  }
  line = decoded_.substr(0, end);
  decoded_.erase(0, end + 1);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

std::optional<SseItem> HttpConnection::read_item(Deadline deadline) {
  SseItem item;
  std::string line;
  bool any = false;
  while (body_line(line, deadline)) {
    if (line.empty()) {
      if (any) return item;
      continue;
    }
    if (line[0] == ':' && !any) {
      item.comment = true;
      item.text = line.substr(1);
      return item;
    }
    any = true;
    item.text += line + "\n";
    auto colon = std::min(line.find(':'), line.size());
    auto field = line.substr(0, colon);
    auto value = colon < line.size() ? line.substr(colon + 1) : "";
    if (!value.empty() && value[0] == ' ') value.erase(0, 1);
    if (field == "data") {
      item.data += (item.has_data ? "\n" : "") + value;
      item.has_data = true;
    } else if (field == "event") {
      item.type = value;
    } else if (field == "id") {
      item.id = value;
    }
  }
  if (any) throw WireError("the stream ended within an event: " + item.text);
  return std::nullopt;
}

}  // namespace lineward::wire

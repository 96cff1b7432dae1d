#include "foundation/net/tls_session.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/base/string_pool.h"
#include "foundation/net/tls_error.h"

namespace lineward::net {
namespace {

// Answers to messages of the protocol itself (key updates). A client that sends more than it reads of them
// would have them queue without end.
constexpr size_t kMaxUnread = 256 * 1024;
// A received piece, and the record that an earlier piece began.
constexpr size_t kMaxPlain = TlsSession::kMaxFeed + 2 * TlsSession::kRecord;

constexpr std::string_view kPlainHttp =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 36\r\nConnection: close\r\n\r\n"
    "This port speaks TLS: use https://.\n";

std::array<char, kMaxPlain>& plain_buffer() {
  thread_local std::array<char, kMaxPlain> shared;
  return shared;
}

}  // namespace

// The BIO of OpenSSL that reads `in_` and writes `out_`: each byte is copied once.
struct TlsSession::Wire {
  static TlsSession& of(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }
  static int read(BIO* bio, char* to, int size) {
    std::string_view& in = of(bio).in_;
    BIO_clear_retry_flags(bio);
    if (in.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t taken = std::min(in.size(), static_cast<size_t>(size));
    std::memcpy(to, in.data(), taken);
    in.remove_prefix(taken);
    return static_cast<int>(taken);
  }
  static int write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    std::string& out = of(bio).out_;
    if (out.empty()) StringPool::renew(out, static_cast<size_t>(size));
    out.append(from, static_cast<size_t>(size));
    return size;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lineward");
      if (bio == nullptr || BIO_meth_set_read(bio, read) != 1 || BIO_meth_set_write(bio, write) != 1 ||
          BIO_meth_set_ctrl(bio, control) != 1)
        return static_cast<BIO_METHOD*>(nullptr);
      return bio;
    }();
    return made;
  }
};

std::unique_ptr<TlsSession> TlsSession::accept(TlsListenerPtr listener) {
  ERR_clear_error();
  std::unique_ptr<TlsSession> self(new TlsSession(std::move(listener)));
  BIO_METHOD* method = Wire::method();
  self->ssl_ = SSL_new(self->listener_->first());
  BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
  if (self->ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, self.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(self->ssl_, bio, bio);
  SSL_set_accept_state(self->ssl_);
  return self;
}

TlsSession::~TlsSession() {
  SSL_free(ssl_);
}

// A handshake begins with the byte 22; a request line, with a letter.
bool TlsSession::refuse_plain_http(std::string_view wire) {
  const char first = wire.front();
  plain_http_ = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  if (!plain_http_) return false;
  out_ = kPlainHttp;
  fail_with("the client spoke HTTP without TLS");
  return true;
}

std::string_view TlsSession::feed(std::string_view wire) {
  LW_CHECK(wire.size() <= kMaxFeed);
  if (state_ == State::failed || state_ == State::closed || wire.empty()) return {};
  if (received_ == 0 && refuse_plain_http(wire)) return {};
  if (state_ == State::handshake) received_ += wire.size();
  in_ = wire;
  auto& buffer = plain_buffer();
  size_t size = 0;
  for (;;) {
    ERR_clear_error();
    LW_CHECK(size < buffer.size());
    const int got = SSL_read(ssl_, buffer.data() + size, static_cast<int>(buffer.size() - size));
    if (state_ == State::handshake && SSL_is_init_finished(ssl_) == 1) state_ = State::open;
    if (got > 0) {
      size += static_cast<size_t>(got);
      if (in_.empty() && SSL_pending(ssl_) == 0) break;
      continue;
    }
    const int error = SSL_get_error(ssl_, got);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      state_ = State::closed;
    } else {
      const long verdict = SSL_get_verify_result(ssl_);
      std::string reason = verdict == X509_V_OK ? last_tls_error()
                                                : fmt::format("the client's certificate is not accepted: {}",
                                                              X509_verify_cert_error_string(verdict));
      ERR_clear_error();
      fail_with(std::move(reason));
    }
    break;
  }
  in_ = {};
  if (state_ == State::handshake && received_ > kMaxHandshake)
    fail_with(fmt::format("the handshake has more than {} bytes", kMaxHandshake));
  if (state_ == State::open && output().size() > kMaxUnread)
    fail_with(fmt::format("the client left more than {} bytes unread", kMaxUnread));
  return {buffer.data(), size};
}

void TlsSession::seal(std::string_view plain) {
  LW_CHECK(state_ == State::open || state_ == State::closed);
  if (plain.empty() || ended_) return;
  ERR_clear_error();
  // The BIO takes everything, so a record is never written in part.
  if (SSL_write(ssl_, plain.data(), static_cast<int>(plain.size())) != static_cast<int>(plain.size()))
    fail_with(last_tls_error());
}

void TlsSession::end() {
  if (ended_ || (state_ != State::open && state_ != State::closed)) return;
  ended_ = true;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

void TlsSession::sent(size_t bytes) {
  sent_ += bytes;
  if (sent_ < out_.size()) return;
  sent_ = 0;
  StringPool::give(std::exchange(out_, std::string()));
}

bool TlsSession::is_resumed() const {
  return SSL_session_reused(ssl_) == 1;
}

std::string_view TlsSession::version() const {
  return SSL_get_version(ssl_);
}

std::string_view TlsSession::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

x509_st* TlsSession::client_certificate() const {
  return SSL_get0_peer_certificate(ssl_);
}

void TlsSession::fail_with(std::string why) {
  state_ = State::failed;
  fault_ = std::move(why);
}

}  // namespace lineward::net

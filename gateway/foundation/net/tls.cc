#include "foundation/net/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>

#include "foundation/base/regular_file.h"
#include "foundation/net/authorities.h"
#include "foundation/net/tls_error.h"

namespace lineward::net {
namespace {

// Bundles of authorities have some hundred KiB.
constexpr size_t kMaxFile = 16 << 20;

bool is_address(const std::string& host) {
  in6_addr any{};
  return inet_pton(AF_INET, host.c_str(), &any) == 1 || inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// OpenSSL would ask for the key's passphrase on the terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

}  // namespace

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_client(const TlsOptions& options) {
  ERR_clear_error();
  SSL_CTX* raw = SSL_CTX_new(TLS_client_method());
  if (raw == nullptr) return fail(fmt::format("TLS cannot be used: {}", last_tls_error()));
  std::shared_ptr<TlsContext> context(new TlsContext(raw));
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_mode(
      raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(raw, no_password);
  for (const std::string& file : {options.ca_file, options.client_cert, options.client_key}) {
    if (file.empty()) continue;
    if (auto usable = check_regular_file(file, kMaxFile); !usable)
      return fail(fmt::format("{} cannot be used: {}", file, usable.error().text));
  }
  if (options.ca_file.empty()) {
    trust_the_machines(raw);
  } else if (SSL_CTX_load_verify_locations(raw, options.ca_file.c_str(), nullptr) != 1) {
    return fail(fmt::format("the authorities in {} cannot be used: {}", options.ca_file, last_tls_error()));
  }
  if (options.client_cert.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(raw, options.client_cert.c_str()) != 1) {
    return fail(fmt::format("the certificate {} cannot be used: {}", options.client_cert, last_tls_error()));
  }
  const std::string& key = options.client_key.empty() ? options.client_cert : options.client_key;
  if (SSL_CTX_use_PrivateKey_file(raw, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return fail(fmt::format("the key {} cannot be used: {}", key, last_tls_error()));
  }
  return context;
}

Result<std::unique_ptr<TlsEngine>> TlsEngine::for_client(std::shared_ptr<TlsContext> context,
                                                         const std::string& host, std::string_view alpn) {
  ERR_clear_error();
  std::unique_ptr<TlsEngine> self(new TlsEngine);
  self->host_ = host;
  self->ssl_ = SSL_new(context->raw());
  self->context_ = std::move(context);
  if (self->ssl_ == nullptr) return fail(fmt::format("TLS cannot be used: {}", last_tls_error()));
  self->in_ = BIO_new(BIO_s_mem());
  self->out_ = BIO_new(BIO_s_mem());
  SSL_set_bio(self->ssl_, self->in_, self->out_);
  bool named = false;
  if (is_address(host)) {
    named =
        // SNI is for names only
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(self->ssl_), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(self->ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named = SSL_set1_host(self->ssl_, host.c_str()) == 1 &&
            SSL_set_tlsext_host_name(self->ssl_, host.c_str()) == 1;
  }
  if (!named) return fail(fmt::format("{} is no name that TLS can verify", host));
  // 0 is success here.
  const auto* protocols = reinterpret_cast<const unsigned char*>(alpn.data());
  if (!alpn.empty() && SSL_set_alpn_protos(self->ssl_, protocols, static_cast<unsigned>(alpn.size())) != 0)
    return fail(fmt::format("TLS cannot be used: {}", last_tls_error()));
  SSL_set_connect_state(self->ssl_);
  std::string nothing;
  self->advance(nothing);  // the first flight
  return self;
}

TlsEngine::~TlsEngine() {
  SSL_free(ssl_);
}

TlsEngine::State TlsEngine::feed(std::string_view wire, std::string& plain) {
  while (!wire.empty() && state_ != State::failed) {
    int size = static_cast<int>(std::min<size_t>(wire.size(), INT_MAX));
    int taken = BIO_write(in_, wire.data(), size);
    if (taken <= 0) return broken("no memory");
    wire.remove_prefix(static_cast<size_t>(taken));
  }
  return advance(plain);
}

TlsEngine::State TlsEngine::advance(std::string& plain) {
  if (state_ == State::failed || state_ == State::closed) return state_;
  ERR_clear_error();
  if (state_ == State::handshake) {
    int done = SSL_do_handshake(ssl_);
    if (done != 1) {
      int error = SSL_get_error(ssl_, done);
      if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return state_;
      return broken("the TLS handshake failed");
    }
    state_ = State::open;
    flush_plain();
  }
  std::array<char, 16 * 1024> buffer;
  while (state_ == State::open) {
    ERR_clear_error();
    int got = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) {
      plain.append(buffer.data(), static_cast<size_t>(got));
      continue;
    }
    int error = SSL_get_error(ssl_, got);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      state_ = State::closed;
    } else {
      return broken("the TLS connection broke");
    }
  }
  // A renegotiation may have held back what was written before it.
  if (state_ == State::open && !waiting_.empty()) flush_plain();
  return state_;
}

TlsEngine::State TlsEngine::write(std::string_view plain) {
  if (state_ == State::failed || state_ == State::closed) return state_;
  waiting_.append(plain);
  if (state_ == State::open) flush_plain();
  return state_;
}

void TlsEngine::flush_plain() {
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    ERR_clear_error();
    int sent = SSL_write(ssl_, rest.data(), static_cast<int>(std::min<size_t>(rest.size(), INT_MAX)));
    if (sent <= 0) {
      int error = SSL_get_error(ssl_, sent);
      if (error == SSL_ERROR_WANT_READ) break;  // continues with the next feed()
      broken("the TLS connection broke");
      break;
    }
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  waiting_.erase(0, waiting_.size() - rest.size());
}

std::string TlsEngine::take_output() {
  std::string out(BIO_ctrl_pending(out_), '\0');
  if (out.empty()) return out;
  int got = BIO_read(out_, out.data(), static_cast<int>(out.size()));
  out.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return out;
}

void TlsEngine::close() {
  if (state_ != State::open) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

std::string_view TlsEngine::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

TlsEngine::State TlsEngine::broken(std::string_view what) {
  state_ = State::failed;
  long verdict = SSL_get_verify_result(ssl_);
  if (verdict != X509_V_OK) {
    fault_ = fmt::format("the certificate of {} is not accepted: {}", host_,
                         X509_verify_cert_error_string(verdict));
    ERR_clear_error();
  } else {
    fault_ = fmt::format("{}: {}", what, last_tls_error());
  }
  return state_;
}

}  // namespace lineward::net

// A TLS client over memory, and over a socket of a test.
#pragma once

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <string_view>

namespace lineward::net {

struct TestTlsClient {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = nullptr;
  BIO* in = nullptr;
  BIO* out = nullptr;
  std::string got;
  bool failed = false, ended = false;
  // `prepare` gets the context before, and the connection after it is made.
  explicit TestTlsClient(const std::function<void(SSL_CTX*)>& prepare = nullptr,
                         const std::function<void(SSL*)>& begin = nullptr) {
    if (prepare) prepare(context);
    ssl = SSL_new(context);
    in = BIO_new(BIO_s_mem());
    out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    SSL_set_connect_state(ssl);
    if (begin) begin(ssl);
    advance();
  }
  ~TestTlsClient() {
    // Else OpenSSL would not resume the session.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  TestTlsClient(const TestTlsClient&) = delete;
  TestTlsClient& operator=(const TestTlsClient&) = delete;
  bool open() const { return SSL_is_init_finished(ssl) == 1; }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(out), '\0');
    if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void feed(std::string_view bytes) {
    if (!bytes.empty()) BIO_write(in, bytes.data(), static_cast<int>(bytes.size()));
    advance();
  }
  // After the handshake.
  void write(std::string_view plain) { SSL_write(ssl, plain.data(), static_cast<int>(plain.size())); }
  void end() { SSL_shutdown(ssl); }
  std::string shown_name() const {
    X509* shown = SSL_get0_peer_certificate(ssl);
    char name[256] = "";
    if (shown != nullptr) X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, 256);
    return name;
  }

 private:
  void advance() {
    char buffer[16 * 1024];
    for (;;) {
      const int n = SSL_read(ssl, buffer, sizeof buffer);
      if (n > 0) {
        got.append(buffer, static_cast<size_t>(n));
        continue;
      }
      const int error = SSL_get_error(ssl, n);
      failed = failed || error == SSL_ERROR_SSL;
      ended = ended || error == SSL_ERROR_ZERO_RETURN;
      return;
    }
  }
};

}  // namespace lineward::net

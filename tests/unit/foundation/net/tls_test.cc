#include "foundation/net/tls.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

using namespace lineward::net;

namespace {

struct Made {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  ~Made() {
    X509_free(cert);
    EVP_PKEY_free(key);
  }
};

// A certificate that signs itself, for one name.
void make(Made& made, const char* name, long lasts) {
  X509_set_version(made.cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.cert), -7200);
  X509_gmtime_adj(X509_getm_notAfter(made.cert), lasts);
  X509_NAME* subject = X509_get_subject_name(made.cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1,
                             -1, 0);
  X509_set_issuer_name(made.cert, subject);
  X509_set_pubkey(made.cert, made.key);
  std::string alternative = std::string(name);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative.c_str());
  X509_add_ext(made.cert, extension, -1);
  X509_EXTENSION_free(extension);
  REQUIRE(X509_sign(made.cert, made.key, EVP_sha256()) > 0);
}

std::string write_pem(const Made& made, const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  PEM_write_X509(file, made.cert);
  PEM_write_PrivateKey(file, made.key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  return path;
}

// The other side, as simple as can be.
struct Server {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  SSL* ssl = nullptr;
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  std::string got;

  explicit Server(const std::string& pem, int most = 0) {
    SSL_CTX_use_certificate_chain_file(context, pem.c_str());
    SSL_CTX_use_PrivateKey_file(context, pem.c_str(), SSL_FILETYPE_PEM);
    if (most != 0) {
      SSL_CTX_set_min_proto_version(context, 0);
      SSL_CTX_set_max_proto_version(context, most);
      SSL_CTX_set_security_level(context, 0);
    }
    ssl = SSL_new(context);
    SSL_set_bio(ssl, in, out);
    SSL_set_accept_state(ssl);
  }
  ~Server() {
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  std::string take() {
    std::string bytes(BIO_ctrl_pending(out), '\0');
    if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void feed(const std::string& bytes) {
    BIO_write(in, bytes.data(), static_cast<int>(bytes.size()));
    char buffer[4096];
    for (int n = 0; (n = SSL_read(ssl, buffer, sizeof buffer)) > 0;)
      got.append(buffer, static_cast<size_t>(n));
  }
};

std::string talk(TlsEngine& client, Server& server) {
  std::string plain;
  for (int i = 0; i < 10; ++i) {
    server.feed(client.take_output());
    std::string bytes = server.take();
    if (!bytes.empty()) client.feed(bytes, plain);
  }
  return plain;
}

std::string path_of(const char* name) {
  return std::string("/tmp/lineward-tls-test-") + std::to_string(getpid()) + name;
}

}  // namespace

TEST_CASE("TLS towards servers") {
  Made good;
  make(good, "DNS:example.test,IP:127.0.0.1", 7200);
  std::string pem = write_pem(good, path_of("good.pem"));
  auto context = TlsContext::for_client({pem, {}, {}});
  REQUIRE(context);

  SECTION("what is written waits for the handshake, and arrives") {
    for (const char* host : {"example.test", "127.0.0.1"}) {
      auto client = TlsEngine::for_client(*context, host);
      REQUIRE(client);
      Server server(pem);
      (*client)->write(std::string(100000, 'a'));
      talk(**client, server);
      CHECK((*client)->state() == TlsEngine::State::open);
      CHECK(server.got == std::string(100000, 'a'));
      SSL_write(server.ssl, "hello", 5);
      CHECK(talk(**client, server) == "hello");
      SSL_shutdown(server.ssl);
      talk(**client, server);
      CHECK((*client)->state() == TlsEngine::State::closed);
    }
  }
  // As servers do that ask for a certificate when they know the path.
  SECTION("what is written while the server renegotiates arrives behind it") {
    auto client = TlsEngine::for_client(*context, "example.test");
    REQUIRE(client);
    Server server(pem, TLS1_2_VERSION);
    talk(**client, server);
    REQUIRE((*client)->state() == TlsEngine::State::open);
    REQUIRE(SSL_renegotiate(server.ssl) == 1);
    REQUIRE(SSL_do_handshake(server.ssl) == 1);
    std::string plain;
    (*client)->feed(server.take(), plain);
    (*client)->write("late");
    talk(**client, server);
    CHECK((*client)->state() == TlsEngine::State::open);
    CHECK(server.got == "late");
  }
  SECTION("another name, an unknown authority, an old certificate") {
    auto wrong_name = TlsEngine::for_client(*context, "other.test");
    Server server(pem);
    talk(**wrong_name, server);
    CHECK((*wrong_name)->state() == TlsEngine::State::failed);
    CHECK((*wrong_name)->fault().find("ostname mismatch") != std::string::npos);

    auto system = TlsContext::for_client({});
    auto unknown = TlsEngine::for_client(*system, "example.test");
    Server again(pem);
    talk(**unknown, again);
    CHECK((*unknown)->fault().find("self") != std::string::npos);

    Made old;
    make(old, "DNS:example.test", -3600);
    std::string old_pem = write_pem(old, path_of("old.pem"));
    auto trusting = TlsContext::for_client({old_pem, {}, {}});
    auto expired = TlsEngine::for_client(*trusting, "example.test");
    Server third(old_pem);
    talk(**expired, third);
    CHECK((*expired)->fault().find("expired") != std::string::npos);
    std::remove(old_pem.c_str());
  }
  SECTION("nothing older than TLS 1.2") {
    auto client = TlsEngine::for_client(*context, "example.test");
    Server server(pem, TLS1_1_VERSION);
    talk(**client, server);
    CHECK((*client)->state() == TlsEngine::State::failed);
  }
  SECTION("bytes that are no TLS") {
    auto client = TlsEngine::for_client(*context, "example.test");
    std::string plain;
    CHECK((*client)->feed("HTTP/1.1 400 Bad Request\r\n\r\n", plain) == TlsEngine::State::failed);
    CHECK(plain.empty());
  }
  SECTION("files that are none") {
    CHECK_FALSE(TlsContext::for_client({"/no/such/file", {}, {}}));
    CHECK_FALSE(TlsContext::for_client({{}, "/no/such/file", {}}));
  }
  std::remove(pem.c_str());
}

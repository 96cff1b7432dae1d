#include "foundation/net/tls_listener.h"

#include <openssl/ocsp.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "foundation/net/tls_session.h"
#include "unit/foundation/net/made_certificate.h"
#include "unit/foundation/net/test_tls_client.h"

using namespace lineward;
using namespace lineward::net;

namespace {

using State = TlsSession::State;

TlsListenerPtr listener_of(std::vector<CertificatePtr> certificates, TlsListenerOptions options = {}) {
  options.certificates = std::move(certificates);
  auto made = TlsListener::make(std::move(options));
  REQUIRE(made);
  return *made;
}

// Until neither has anything for the other. Returns what the server read.
std::string talk(TestTlsClient& client, TlsSession& server) {
  std::string plain;
  for (int i = 0; i < 20; ++i) {
    const std::string bytes = client.take();
    if (!bytes.empty()) plain += server.feed(bytes);
    const std::string answer(server.output());
    server.sent(answer.size());
    if (bytes.empty() && answer.empty()) break;
    client.feed(answer);
  }
  return plain;
}

std::string shown_for(const TlsListenerPtr& listener, const std::string& name) {
  TestTlsClient client(nullptr, [&](SSL* ssl) {
    if (!name.empty()) SSL_set_tlsext_host_name(ssl, name.c_str());
  });
  auto server = TlsSession::accept(listener);
  talk(client, *server);
  return client.shown_name();
}

}  // namespace

TEST_CASE("a TLS listener: plain bytes in both directions, and both ends") {
  const MadeCertificate made("one", "DNS:one.test");
  const auto listener = listener_of({made.read()});
  TestTlsClient client;
  auto server = TlsSession::accept(listener);
  talk(client, *server);
  REQUIRE(server->state() == State::open);
  CHECK(server->version() == "TLSv1.3");
  client.write("request");
  CHECK(talk(client, *server) == "request");
  server->seal(std::string(TlsSession::kRecord, 'x'));
  server->seal("end");
  talk(client, *server);
  CHECK(client.got == std::string(TlsSession::kRecord, 'x') + "end");
  SECTION("the client ends") {
    client.write("last");
    client.end();
    CHECK(talk(client, *server) == "last");
    CHECK(server->state() == State::closed);
  }
  SECTION("the server ends") {
    server->end();
    talk(client, *server);
    CHECK(client.ended);
  }
  SECTION("bytes that are no TLS") {
    CHECK(server->feed("GET / HTTP/1.1\r\n\r\n").empty());
    CHECK(server->state() == State::failed);
  }
  SECTION("a record byte by byte") {
    client.write("slow");
    std::string plain;
    for (const char byte : client.take())
      plain += server->feed({&byte, 1});
    CHECK(plain == "slow");
  }
}

TEST_CASE("a TLS listener chooses the certificate by the name that the client asks for") {
  const MadeCertificate first("first", "DNS:one.test,IP:127.0.0.1");
  const MadeCertificate second("second", "DNS:Two.test,DNS:*.two.test");
  const MadeCertificate third("third", "DNS:exact.two.test");
  const auto listener = listener_of({first.read(), second.read(), third.read()});
  CHECK(shown_for(listener, "") == "first");
  CHECK(shown_for(listener, "one.test") == "first");
  CHECK(shown_for(listener, "unknown.test") == "first");
  CHECK(shown_for(listener, "two.test") == "second");
  CHECK(shown_for(listener, "TWO.test") == "second");
  CHECK(shown_for(listener, "a.two.test") == "second");
  CHECK(shown_for(listener, "exact.two.test") == "third");
  CHECK(shown_for(listener, "a.b.two.test") == "first");
}

TEST_CASE("a TLS listener shows the type of key that the client can verify") {
  const MadeCertificate curve("curve", "DNS:one.test");
  const MadeCertificate rsa("rsa", "DNS:one.test", nullptr, 86400, -7200, true);
  const auto listener = listener_of({curve.read(), rsa.read()});
  const auto shown = [&](const char* algorithms) {
    TestTlsClient client([&](SSL_CTX* context) { SSL_CTX_set1_sigalgs_list(context, algorithms); });
    auto server = TlsSession::accept(listener);
    talk(client, *server);
    return client.shown_name();
  };
  CHECK(shown("ECDSA+SHA256") == "curve");
  CHECK(shown("rsa_pss_rsae_sha256") == "rsa");
}

TEST_CASE("a TLS listener sends the OCSP response of the certificate that it shows") {
  const MadeCertificate curve("curve", "DNS:one.test");
  const MadeCertificate rsa("rsa", "DNS:one.test", nullptr, 86400, -7200, true);
  OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, nullptr);
  unsigned char* der = nullptr;
  const int size = i2d_OCSP_RESPONSE(response, &der);
  const std::string text(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  OCSP_RESPONSE_free(response);
  const std::string path = "/tmp/lineward-tls-listener-test-" + std::to_string(getpid());
  std::ofstream(path + ".pem") << curve.pem() << curve.key_pem();
  std::ofstream(path + ".ocsp") << text;
  auto with_ocsp = Certificate::read({path + ".pem", {}, path + ".ocsp"});
  unlink((path + ".pem").c_str());
  unlink((path + ".ocsp").c_str());
  REQUIRE(with_ocsp);
  const auto listener = listener_of({*with_ocsp, rsa.read()});
  const auto sent = [&](const char* algorithms) {
    TestTlsClient client([&](SSL_CTX* context) { SSL_CTX_set1_sigalgs_list(context, algorithms); },
                         [](SSL* ssl) { SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp); });
    auto server = TlsSession::accept(listener);
    talk(client, *server);
    CHECK(server->state() == State::open);
    const unsigned char* got = nullptr;
    const long length = SSL_get_tlsext_status_ocsp_resp(client.ssl, &got);
    return length <= 0 ? std::string()
                       : std::string(reinterpret_cast<const char*>(got), static_cast<size_t>(length));
  };
  CHECK(sent("ECDSA+SHA256") == text);
  CHECK(sent("rsa_pss_rsae_sha256").empty());
}

TEST_CASE("a TLS listener refuses old versions, weak ciphers, other protocols and renegotiation") {
  const MadeCertificate made("one", "DNS:one.test");
  TlsListenerOptions options;
  const auto outcome = [&](const std::function<void(SSL_CTX*)>& prepare) {
    TestTlsClient client(prepare);
    auto server = TlsSession::accept(listener_of({made.read()}, options));
    talk(client, *server);
    return server->state() == State::open && client.open()
               ? std::string("open ") + SSL_get_version(client.ssl)
               : server->fault();
  };
  const auto at_most = [](int version) {
    return [version](SSL_CTX* context) {
      SSL_CTX_set_security_level(context, 0);
      SSL_CTX_set_min_proto_version(context, 0);
      SSL_CTX_set_max_proto_version(context, version);
    };
  };
  CHECK(outcome(at_most(TLS1_1_VERSION)) == "unsupported protocol");
  CHECK(outcome(at_most(TLS1_2_VERSION)) == "open TLSv1.2");
  CHECK(outcome([](SSL_CTX* context) {
          SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
          SSL_CTX_set_cipher_list(context, "ECDHE-ECDSA-AES128-SHA");
        }) == "no shared cipher");
  const auto protocols = [](std::string names) {
    return [names](SSL_CTX* context) {
      SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(names.data()),
                              static_cast<unsigned>(names.size()));
    };
  };
  CHECK(outcome(protocols("\x02h2\x08http/1.1")) == "open TLSv1.3");
  CHECK(outcome(protocols("\x02h2")) == "no application protocol");
  options.min_version = TlsVersion::tls13;
  CHECK(outcome(at_most(TLS1_2_VERSION)) == "unsupported protocol");
  CHECK(outcome(nullptr) == "open TLSv1.3");
}

TEST_CASE("TLS: what is no handshake") {
  const MadeCertificate made("one", "DNS:one.test");
  const auto listener = listener_of({made.read()});
  SECTION("HTTP without TLS is answered in plain text") {
    auto server = TlsSession::accept(listener);
    CHECK(server->feed("POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n").empty());
    CHECK(server->state() == State::failed);
    CHECK(server->is_plain_http());
    CHECK(server->output().find("HTTP/1.1 400 Bad Request\r\n") == 0);
    const std::string_view body = server->output().substr(server->output().find("\r\n\r\n") + 4);
    CHECK(server->output().find("Content-Length: " + std::to_string(body.size()) + "\r\n") !=
          std::string_view::npos);
  }
  SECTION("other bytes") {
    auto server = TlsSession::accept(listener);
    CHECK(server->feed(std::string("\x16\x03\x01\xff\xff", 5) + std::string(300, '\x41')).empty());
    CHECK(server->state() == State::failed);
    CHECK_FALSE(server->is_plain_http());
    CHECK_FALSE(server->output().empty());  // an alert
  }
  SECTION("a handshake without end") {
    // A ClientHello of 100 KiB, as far as its length says.
    auto server = TlsSession::accept(listener);
    std::string record("\x16\x03\x01\x40\x00", 5);
    server->feed(record + std::string("\x01\x01\x90\x00\x03\x03", 6) + std::string((1 << 14) - 6, '\0'));
    for (int i = 0; i < 8 && server->state() == State::handshake; ++i)
      server->feed(record + std::string(1 << 14, '\0'));
    CHECK(server->state() == State::failed);
    CHECK(server->fault() == "the handshake has more than 65536 bytes");
  }
}

TEST_CASE("TLS: a client that sends key updates and reads nothing is cut") {
  const MadeCertificate made("one", "DNS:one.test");
  TestTlsClient client;
  auto server = TlsSession::accept(listener_of({made.read()}));
  talk(client, *server);
  size_t sent = 0;
  while (server->state() == State::open && sent < (4 << 20)) {
    SSL_key_update(client.ssl, SSL_KEY_UPDATE_REQUESTED);
    client.write("x");
    const std::string bytes = client.take();
    sent += bytes.size();
    server->feed(bytes);
  }
  CHECK(server->state() == State::failed);
  CHECK(server->output().size() < (1 << 20));
}

TEST_CASE("TLS sessions are resumed by tickets") {
  const MadeCertificate made("one", "DNS:one.test");
  const auto version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
  INFO("version " << version);
  auto keys = std::make_shared<TicketKeys>();
  const auto options = [&](const std::shared_ptr<TicketKeys>& tickets) {
    TlsListenerOptions all;
    all.tickets = tickets;
    return all;
  };
  const auto listener = listener_of({made.read()}, options(keys));
  static SSL_SESSION* kept;
  kept = nullptr;
  const auto prepare = [&](SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, [](SSL*, SSL_SESSION* session) {
      SSL_SESSION_free(std::exchange(kept, session));
      return 1;
    });
  };
  const auto resumes_at = [&](const TlsListenerPtr& at) {
    TestTlsClient client(prepare, [&](SSL* ssl) {
      if (kept != nullptr) SSL_set_session(ssl, kept);
    });
    auto server = TlsSession::accept(at);
    talk(client, *server);
    CHECK(server->state() == State::open);
    CHECK((SSL_session_reused(client.ssl) == 1) == server->is_resumed());
    return server->is_resumed();
  };
  CHECK_FALSE(resumes_at(listener));
  REQUIRE(kept != nullptr);
  CHECK(resumes_at(listener));
  CHECK(resumes_at(listener));
  // Another listener with the same keys: another certificate of a reload, or another worker's.
  CHECK(resumes_at(listener_of({made.read()}, options(keys))));
  CHECK_FALSE(resumes_at(listener_of({made.read()}, options(std::make_shared<TicketKeys>()))));
  CHECK_FALSE(resumes_at(listener_of({made.read()}, options(nullptr))));
  auto one = std::make_shared<TicketKeys>(), two = std::make_shared<TicketKeys>();
  TicketKeys::Secret first{}, second{};
  first.fill(1);
  second.fill(2);
  one->share({first});
  two->share({second, first});
  SSL_SESSION_free(std::exchange(kept, nullptr));
  CHECK_FALSE(resumes_at(listener_of({made.read()}, options(one))));
  CHECK(resumes_at(listener_of({made.read()}, options(two))));
  SSL_SESSION_free(std::exchange(kept, nullptr));
}

TEST_CASE("ticket keys seal for eight hours and open for eight more") {
  using namespace std::chrono_literals;
  const TicketKeys::Clock::time_point start(TicketKeys::kLife * 50000);
  const auto name_of = [](const TicketKeys::Key& key) {
    return std::string(key.name.begin(), key.name.end());
  };
  TicketKeys keys;
  if (GENERATE(false, true)) keys.share({TicketKeys::Secret{7}});
  const std::string first = name_of(*keys.sealing(start));
  CHECK(name_of(*keys.sealing(start + 7h)) == first);
  CHECK_FALSE(keys.opening(first, start + 7h)->renew);
  const std::string second = name_of(*keys.sealing(start + 8h));
  CHECK(second != first);
  CHECK(keys.opening(first, start + 15h)->renew);
  CHECK_FALSE(keys.opening(first, start + 16h));
  CHECK(keys.opening(second, start + 16h));
  CHECK_FALSE(keys.opening("unknown", start + 16h));
}

TEST_CASE("client certificates: taken, required, refused") {
  const MadeCertificate made("one", "DNS:one.test");
  const MadeCertificate authority("authority", "");
  const MadeCertificate other("other authority", "");
  const MadeCertificate agent("agent", "URI:spiffe://test/agent", &authority);
  const MadeCertificate stranger("stranger", "", &other);
  TlsListenerOptions options;
  options.client_authorities = authority.pem();
  const auto shows = [](const MadeCertificate& one) {
    return [&one](SSL_CTX* context) {
      SSL_CTX_use_certificate(context, one.certificate);
      SSL_CTX_use_PrivateKey(context, one.key);
    };
  };
  options.client_required = GENERATE(false, true);
  const auto listener = listener_of({made.read()}, options);
  {
    TestTlsClient client(shows(agent));
    auto server = TlsSession::accept(listener);
    talk(client, *server);
    REQUIRE(server->state() == State::open);
    REQUIRE(server->client_certificate() != nullptr);
    CHECK(identities_of(server->client_certificate()) == std::vector<std::string>{"spiffe://test/agent"});
  }
  {
    TestTlsClient client(shows(stranger));
    auto server = TlsSession::accept(listener);
    talk(client, *server);
    CHECK(server->state() == State::failed);
    CHECK(server->fault().find("the client's certificate is not accepted") == 0);
  }
  TestTlsClient client;
  auto server = TlsSession::accept(listener);
  talk(client, *server);
  CHECK((server->state() == State::open) == !options.client_required);
}

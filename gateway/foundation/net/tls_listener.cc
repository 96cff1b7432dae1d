#include "foundation/net/tls_listener.h"

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "foundation/net/tls_error.h"

namespace lineward::net {
namespace {

constexpr const char* kCiphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
// The first only where OpenSSL has it (3.5).
constexpr std::array<const char*, 2> kGroups = {"X25519MLKEM768:X25519:prime256v1:secp384r1",
                                                "X25519:prime256v1:secp384r1"};
constexpr long kMaxClientChain = 32 * 1024;  // bytes of a client's certificates
constexpr size_t kMaxAuthorities = 256;

// The place of a listener's ticket keys in each of its contexts.
int tickets_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Looked up once: each look-up by name takes a lock of OpenSSL's.
const EVP_CIPHER* ticket_cipher() {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr);
  return cipher;
}

bool use_mac_key(EVP_MAC_CTX* mac, TicketKeys::Key& key) {
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
  return EVP_MAC_CTX_set_params(mac, params) == 1;
}

// Results as SSL_CTX_set_tlsext_ticket_key_evp_cb has them: -1 an error, 0 no ticket or an unknown key, 1
// sealed or opened, 2 opened and to be sealed anew.
int ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
               int sealing) {
  auto* keys = static_cast<TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), tickets_index()));
  if (keys == nullptr || ticket_cipher() == nullptr) return sealing != 0 ? -1 : 0;
  if (sealing != 0) {
    auto key = keys->sealing();
    const int iv_size = EVP_CIPHER_get_iv_length(ticket_cipher());
    if (!key || RAND_bytes(iv, iv_size) != 1) return -1;
    std::memcpy(name, key->name.data(), key->name.size());
    return EVP_EncryptInit_ex2(cipher, ticket_cipher(), key->cipher.data(), iv, nullptr) == 1 &&
                   use_mac_key(mac, *key)
               ? 1
               : -1;
  }
  auto found = keys->opening(
      {reinterpret_cast<const char*>(name), std::tuple_size<decltype(TicketKeys::Key::name)>()});
  if (!found) return 0;
  if (EVP_DecryptInit_ex2(cipher, ticket_cipher(), found->key.cipher.data(), iv, nullptr) != 1 ||
      !use_mac_key(mac, found->key))
    return -1;
  // A ticket of TLS 1.3 is used once (RFC 8446, appendix C.4): each resumed connection gets the next.
  return found->renew || SSL_version(ssl) == TLS1_3_VERSION ? 2 : 1;
}

Status<> trust_clients(SSL_CTX* context, const std::string& pem, bool required) {
  BIO* text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509_STORE* store = X509_STORE_new();
  STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
  size_t count = 0;
  bool good = text != nullptr && store != nullptr && names != nullptr;
  while (good) {
    X509* one = PEM_read_bio_X509_AUX(text, nullptr, nullptr, nullptr);
    if (one == nullptr) break;
    X509_NAME* name = X509_NAME_dup(X509_get_subject_name(one));
    good = ++count <= kMaxAuthorities && X509_STORE_add_cert(store, one) == 1 && name != nullptr &&
           sk_X509_NAME_push(names, name) > 0;
    X509_free(one);
  }
  BIO_free(text);
  ERR_clear_error();
  if (!good || count == 0) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    X509_STORE_free(store);
    return fail(count > kMaxAuthorities ? fmt::format("there are more than {} authorities", kMaxAuthorities)
                                        : std::string("there is no PEM certificate among the authorities"));
  }
  SSL_CTX_set0_verify_cert_store(context, store);
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_max_cert_list(context, kMaxClientChain);
  return Done{};
}

}  // namespace

TlsListener::TlsListener(TlsListenerOptions options) : options_(std::move(options)) {
  for (const std::string& one : options_.protocols) {
    protocols_ += static_cast<char>(one.size());
    protocols_ += one;
  }
}

TlsListener::~TlsListener() {
  for (SSL_CTX* one : contexts_)
    SSL_CTX_free(one);
}

Result<std::shared_ptr<const TlsListener>> TlsListener::make(TlsListenerOptions options) {
  ERR_clear_error();
  if (options.certificates.empty()) return fail("there is no certificate");
  std::shared_ptr<TlsListener> made(new TlsListener(std::move(options)));
  for (const CertificatePtr& certificate : made->options_.certificates) {
    // Certificates with the same names and different types of key: OpenSSL shows the one that the client can
    // verify.
    SSL_CTX* shared = nullptr;
    for (size_t i = 0; i < made->contexts_.size() && shared == nullptr; ++i) {
      const Certificate& other = *made->options_.certificates[i];
      if (other.names() == certificate->names() && other.key_type() != certificate->key_type())
        shared = made->contexts_[i];
    }
    if (shared != nullptr) {
      SSL_CTX_up_ref(shared);
      made->contexts_.push_back(shared);
    } else {
      auto context = made->context_for(*certificate);
      if (!context) return Unexpected<Error>{context.error()};
      made->contexts_.push_back(*context);
    }
    if (auto added = made->add(*certificate, made->contexts_.back()); !added)
      return Unexpected<Error>{added.error()};
    for (const std::string& name : certificate->names())
      made->by_name_.emplace(name, made->contexts_.back());
  }
  return std::shared_ptr<const TlsListener>(std::move(made));
}

Status<> TlsListener::add(const Certificate& certificate, SSL_CTX* context) {
  bool good = SSL_CTX_use_certificate(context, certificate.leaf()) == 1 &&
              SSL_CTX_use_PrivateKey(context, certificate.key()) == 1;
  for (size_t i = 1; i < certificate.chain().size() && good; ++i)
    good = SSL_CTX_add1_chain_cert(context, certificate.chain()[i]) == 1;
  if (!good) return fail(fmt::format("{} cannot be used: {}", certificate.source(), last_tls_error()));
  if (!certificate.ocsp().empty()) {
    SSL_CTX_set_tlsext_status_cb(context, send_ocsp);
    SSL_CTX_set_tlsext_status_arg(context, this);
  }
  return Done{};
}

Result<SSL_CTX*> TlsListener::context_for(const Certificate&) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) return fail(fmt::format("TLS cannot be used: {}", last_tls_error()));
  auto refused = [&](std::string why) -> Unexpected<Error> {
    SSL_CTX_free(context);
    return fail(std::move(why));
  };
  SSL_CTX_set_min_proto_version(context,
                                options_.min_version == TlsVersion::tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // Sessions are in tickets, not in memory.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(context, 0);
  SSL_CTX_set_recv_max_early_data(context, 0);
  bool grouped = false;
  for (const char* groups : kGroups)
    grouped = grouped || SSL_CTX_set1_groups_list(context, groups) == 1;
  ERR_clear_error();
  if (!grouped || SSL_CTX_set_cipher_list(context, kCiphers) != 1 ||
      SSL_CTX_set_ciphersuites(context, kSuites) != 1)
    return refused(fmt::format("TLS cannot be used: {}", last_tls_error()));
  if (options_.tickets) {
    SSL_CTX_set_ex_data(context, tickets_index(), options_.tickets.get());
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, ticket_key);
    SSL_CTX_set_timeout(context, static_cast<long>(TicketKeys::kLife.count()));
    // Clients here keep a connection or two, and a resumed one gets the next ticket.
    SSL_CTX_set_num_tickets(context, 1);
  } else {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
  }
  SSL_CTX_set_tlsext_servername_callback(context, choose_certificate);
  SSL_CTX_set_tlsext_servername_arg(context, this);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, this);
  if (!options_.client_authorities.empty()) {
    auto trusted = trust_clients(context, options_.client_authorities, options_.client_required);
    if (!trusted) return refused(trusted.error().text);
  }
  // A ticket holds the client's certificate: it is good only where the same authorities are trusted.
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const std::string rules = options_.client_authorities + (options_.client_required ? "required" : "");
  if (EVP_Digest(rules.data(), rules.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 ||
      SSL_CTX_set_session_id_context(context, digest.data(), std::min(size, 32U)) != 1)
    return refused(fmt::format("TLS cannot be used: {}", last_tls_error()));
  return context;
}

SSL_CTX* TlsListener::find(std::string_view name) const {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (auto exact = by_name_.find(lower); exact != by_name_.end()) return exact->second;
  const size_t dot = lower.find('.');
  if (dot == std::string::npos || dot == 0) return nullptr;
  auto wild = by_name_.find("*" + lower.substr(dot));
  return wild == by_name_.end() ? nullptr : wild->second;
}

// An unknown name gets the first certificate: the client decides.
int TlsListener::choose_certificate(SSL* ssl, int*, void* self) {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_CTX* context = static_cast<const TlsListener*>(self)->find(name);
  if (context == nullptr) return SSL_TLSEXT_ERR_NOACK;
  if (context != SSL_get_SSL_CTX(ssl)) SSL_set_SSL_CTX(ssl, context);
  return SSL_TLSEXT_ERR_OK;
}

// The response for the certificate that was chosen.
int TlsListener::send_ocsp(SSL* ssl, void* self) {
  const X509* chosen = SSL_get_certificate(ssl);
  for (const CertificatePtr& one : static_cast<const TlsListener*>(self)->options_.certificates) {
    if (one->leaf() != chosen || one->ocsp().empty()) continue;
    auto* copy = static_cast<unsigned char*>(OPENSSL_memdup(one->ocsp().data(), one->ocsp().size()));
    if (copy == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(one->ocsp().size()));
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

int TlsListener::choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                                 const unsigned char* in, unsigned in_size, void* self) {
  const std::string& own = static_cast<const TlsListener*>(self)->protocols_;
  unsigned char* chosen = nullptr;
  const int result =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(own.data()),
                            static_cast<unsigned>(own.size()), in, in_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace lineward::net

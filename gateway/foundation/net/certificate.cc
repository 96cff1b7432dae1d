#include "foundation/net/certificate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "foundation/base/regular_file.h"
#include "foundation/net/tls_error.h"

namespace lineward::net {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr size_t kMaxChain = 16;
constexpr size_t kMaxNames = 1000;
constexpr size_t kMaxName = 253;

// OpenSSL would ask for the passphrase on the terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

BioPtr open_text(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::string text_of(const ASN1_STRING* text) {
  const unsigned char* data = ASN1_STRING_get0_data(text);
  const int length = ASN1_STRING_length(text);
  if (data == nullptr || length <= 0 || static_cast<size_t>(length) > kMaxName) return {};
  std::string out(reinterpret_cast<const char*>(data), static_cast<size_t>(length));
  const bool plain = std::all_of(out.begin(), out.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return plain ? out : std::string();
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(address) == 4    ? AF_INET
                     : ASN1_STRING_length(address) == 16 ? AF_INET6
                                                         : 0;
  if (family == 0 || inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof text) == nullptr)
    return {};
  return text;
}

template <class Each>
void each_alternative_name(X509* certificate, Each&& each) {
  auto* all =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i)
    each(sk_GENERAL_NAME_value(all, i));
  GENERAL_NAMES_free(all);
}

bool add_extension(X509* certificate, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// 64 random bits; positive.
bool set_serial(X509* certificate) {
  std::array<unsigned char, 8> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  uint64_t number = 0;
  for (const unsigned char byte : bytes)
    number = number << 8 | byte;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1 | 1) == 1;
}

}  // namespace

Certificate::~Certificate() {
  for (X509* one : chain_)
    X509_free(one);
  EVP_PKEY_free(key_);
}

Result<std::shared_ptr<const Certificate>> Certificate::read(const CertificateFiles& files) {
  const std::string& key_file = files.key.empty() ? files.certificate : files.key;
  auto pem = read_regular_file(files.certificate, kMaxFile);
  if (!pem) return fail(fmt::format("{}: {}", files.certificate, pem.error().text));
  auto key = read_regular_file(key_file, kMaxFile);
  if (!key) return fail(fmt::format("{}: {}", key_file, key.error().text));
  auto made = parse(*pem, *key, files.certificate);
  OPENSSL_cleanse(key->data(), key->size());
  OPENSSL_cleanse(pem->data(), pem->size());
  if (!made) return fail(made.error().text + (files.key.empty() ? "" : fmt::format(" (key: {})", key_file)));
  if (files.ocsp.empty()) return made;
  auto response = read_regular_file(files.ocsp, kMaxFile);
  if (!response) return fail(fmt::format("{}: {}", files.ocsp, response.error().text));
  const auto* bytes = reinterpret_cast<const unsigned char*>(response->data());
  OCSP_RESPONSE* parsed = d2i_OCSP_RESPONSE(nullptr, &bytes, static_cast<long>(response->size()));
  const bool good = parsed != nullptr && OCSP_response_status(parsed) == OCSP_RESPONSE_STATUS_SUCCESSFUL;
  OCSP_RESPONSE_free(parsed);
  ERR_clear_error();
  if (!good) return fail(fmt::format("{}: this is no successful OCSP response in DER", files.ocsp));
  // Made here, and not shared yet.
  const_cast<Certificate&>(**made).ocsp_ = std::move(*response);
  return made;
}

Result<std::shared_ptr<const Certificate>> Certificate::parse(std::string_view pem, std::string_view key,
                                                              std::string source) {
  ERR_clear_error();
  std::shared_ptr<Certificate> made(new Certificate);
  made->source_ = std::move(source);
  const BioPtr text = open_text(pem);
  while (X509* one = PEM_read_bio_X509_AUX(text.get(), nullptr, no_password, nullptr)) {
    made->chain_.push_back(one);
    if (made->chain_.size() > kMaxChain)
      return fail(fmt::format("{}: more than {} certificates", made->source_, kMaxChain));
  }
  const unsigned long stop = ERR_peek_last_error();
  const bool at_end =
      stop == 0 || (ERR_GET_LIB(stop) == ERR_LIB_PEM && ERR_GET_REASON(stop) == PEM_R_NO_START_LINE);
  if (!at_end) return fail(fmt::format("{}: {}", made->source_, last_tls_error()));
  ERR_clear_error();
  if (made->chain_.empty()) return fail(fmt::format("{}: there is no PEM certificate in it", made->source_));
  const BioPtr secret = open_text(key);
  made->key_ = PEM_read_bio_PrivateKey(secret.get(), nullptr, no_password, nullptr);
  if (made->key_ == nullptr) {
    ERR_clear_error();
    return fail(fmt::format("{}: there is no PEM key without a passphrase", made->source_));
  }
  if (X509_check_private_key(made->leaf(), made->key_) != 1) {
    ERR_clear_error();
    return fail(fmt::format("{}: the key is not that of the certificate", made->source_));
  }
  made->read_facts();
  return std::shared_ptr<const Certificate>(std::move(made));
}

void Certificate::read_facts() {
  not_before_ = time_of(X509_get0_notBefore(leaf()));
  not_after_ = time_of(X509_get0_notAfter(leaf()));
  std::vector<std::string> addresses;
  each_alternative_name(leaf(), [&](const GENERAL_NAME* name) {
    if (names_.size() + addresses.size() == kMaxNames) return;
    if (name->type == GEN_DNS) {
      if (std::string text = lower(text_of(name->d.dNSName)); !text.empty())
        names_.push_back(std::move(text));
    } else if (name->type == GEN_IPADD) {
      if (std::string text = address_text(name->d.iPAddress); !text.empty())
        addresses.push_back(std::move(text));
    }
  });
  names_.insert(names_.end(), addresses.begin(), addresses.end());
  ERR_clear_error();
}

Result<std::shared_ptr<const Certificate>> Certificate::self_signed(std::chrono::hours lasts) {
  ERR_clear_error();
  std::shared_ptr<Certificate> made(new Certificate);
  made->source_ = "self-signed";
  made->key_ = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  if (certificate != nullptr) made->chain_.push_back(certificate);
  if (made->key_ == nullptr || certificate == nullptr) return fail("no key can be made: " + last_tls_error());
  X509_set_version(certificate, X509_VERSION_3);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lasts).count();
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), static_cast<long>(seconds));
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("lineward --tls-self-signed"), -1, -1, 0);
  const bool good = set_serial(certificate) && X509_set_issuer_name(certificate, subject) == 1 &&
                    X509_set_pubkey(certificate, made->key_) == 1 &&
                    add_extension(certificate, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
                    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
                    X509_sign(certificate, made->key_, EVP_sha256()) > 0;
  if (!good) return fail("no certificate can be made: " + last_tls_error());
  made->read_facts();
  return std::shared_ptr<const Certificate>(std::move(made));
}

bool Certificate::covers(std::string_view host) const {
  const std::string wanted = lower(std::string(host));
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& name) { return name_covers(name, wanted); });
}

std::string Certificate::fingerprint() const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(leaf(), EVP_sha256(), digest.data(), &size) != 1) return {};
  std::string out;
  for (unsigned i = 0; i < size; ++i)
    out += fmt::format("{}{:02X}", i == 0 ? "" : ":", digest[i]);
  return out;
}

std::string Certificate::key_pin() const {
  unsigned char* key = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf()), &key);
  if (size <= 0) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned digest_size = 0;
  const int made =
      EVP_Digest(key, static_cast<size_t>(size), digest.data(), &digest_size, EVP_sha256(), nullptr);
  OPENSSL_free(key);
  if (made != 1) return {};
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest_size));
  return {text.begin(), text.begin() + length};
}

std::string Certificate::chain_fault() const {
  for (size_t i = 1; i < chain_.size(); ++i) {
    EVP_PKEY* issuer = X509_get0_pubkey(chain_[i]);
    const bool issued = X509_check_issued(chain_[i], chain_[i - 1]) == X509_V_OK && issuer != nullptr &&
                        X509_verify(chain_[i - 1], issuer) == 1;
    ERR_clear_error();
    if (!issued)
      return fmt::format("certificate {} did not issue certificate {}: each is followed by its issuer", i + 1,
                         i);
  }
  return {};
}

int Certificate::key_type() const {
  return EVP_PKEY_get_base_id(key_);
}

std::vector<std::string> identities_of(X509* certificate) {
  std::vector<std::string> out;
  each_alternative_name(certificate, [&](const GENERAL_NAME* name) {
    const ASN1_STRING* text = name->type == GEN_URI     ? name->d.uniformResourceIdentifier
                              : name->type == GEN_DNS   ? name->d.dNSName
                              : name->type == GEN_EMAIL ? name->d.rfc822Name
                                                        : nullptr;
    if (text == nullptr || out.size() == kMaxNames) return;
    std::string spelled = text_of(text);
    if (name->type == GEN_DNS) spelled = lower(std::move(spelled));
    if (!spelled.empty()) out.push_back(std::move(spelled));
  });
  if (!out.empty()) return out;
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return out;
  std::string name = text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (!name.empty()) out.push_back(std::move(name));
  return out;
}

std::shared_ptr<X509> shared_certificate(X509* certificate) {
  X509_up_ref(certificate);
  return {certificate, X509_free};
}

std::chrono::system_clock::time_point not_after_of(const X509* certificate) {
  return time_of(X509_get0_notAfter(certificate));
}

bool name_covers(std::string_view name, std::string_view host) {
  if (name.substr(0, 2) != "*.") return name == host;
  const size_t dot = host.find('.');
  return dot != std::string_view::npos && dot > 0 && host.substr(dot) == name.substr(1);
}

}  // namespace lineward::net

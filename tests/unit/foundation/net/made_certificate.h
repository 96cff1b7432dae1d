// Certificates made for a test, as PEM texts.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "foundation/net/certificate.h"

namespace lineward::net {

struct MadeCertificate {
  X509* certificate = nullptr;
  EVP_PKEY* key = nullptr;
  MadeCertificate(const MadeCertificate&) = delete;
  MadeCertificate& operator=(const MadeCertificate&) = delete;
  ~MadeCertificate() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  std::string pem() const {
    return written([this](BIO* to) { PEM_write_bio_X509(to, certificate); });
  }
  std::string key_pem() const {
    return written(
        [this](BIO* to) { PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
  }
  // `names`: "DNS:a.test,IP:127.0.0.1", or empty. Signed by `issuer`; null: by itself. Valid from `from` to
  // `until`, in seconds from now.
  MadeCertificate(const std::string& common_name, const std::string& names,
                  const MadeCertificate* issuer = nullptr, long until = 30 * 86400, long from = -7200,
                  bool rsa = false)
      : certificate(X509_new()), key(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256")) {
    static long serial = 1;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), until);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
    X509_set_issuer_name(certificate,
                         issuer == nullptr ? subject : X509_get_subject_name(issuer->certificate));
    X509_set_pubkey(certificate, key);
    if (!names.empty()) add(NID_subject_alt_name, names.c_str());
    if (issuer == nullptr) add(NID_basic_constraints, "critical,CA:TRUE");
    REQUIRE(X509_sign(certificate, issuer == nullptr ? key : issuer->key, EVP_sha256()) > 0);
  }
  CertificatePtr read(const std::string& source = "test.pem", const std::string& chain = {}) const {
    auto made = Certificate::parse(pem() + chain, key_pem(), source);
    REQUIRE(made);
    return *made;
  }

 private:
  void add(int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class Write>
  static std::string written(Write&& write) {
    BIO* to = BIO_new(BIO_s_mem());
    write(to);
    char* data = nullptr;
    const long size = BIO_get_mem_data(to, &data);
    std::string out(data, static_cast<size_t>(size));
    BIO_free(to);
    return out;
  }
};

}  // namespace lineward::net

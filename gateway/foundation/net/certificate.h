// A certificate with its chain and key, as a TLS listener shows it to clients. Immutable; shared by all
// workers.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

struct x509_st;
struct evp_pkey_st;

namespace lineward::net {

// Paths of PEM files, and of a DER file.
struct CertificateFiles {
  std::string certificate;  // with its chain
  std::string key;          // empty: in `certificate`
  std::string ocsp;         // an OCSP response that is sent with it; empty: none
  bool operator==(const CertificateFiles&) const = default;
};

class Certificate {
 public:
  using Clock = std::chrono::system_clock;

  // Reads the files, and checks that the key belongs to the certificate. The error is one sentence that names
  // the file, never its content.
  static Result<std::shared_ptr<const Certificate>> read(const CertificateFiles& files);
  // The same for PEM texts; `source` names them in errors.
  static Result<std::shared_ptr<const Certificate>> parse(std::string_view pem, std::string_view key,
                                                          std::string source);
  // A new key with a certificate that signs itself, for this machine's own names.
  static Result<std::shared_ptr<const Certificate>> self_signed(std::chrono::hours lasts);
  ~Certificate();
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  const std::string& source() const { return source_; }  // the file of the certificate
  // DNS names in lower case ("*.example.com" too), then addresses; from subjectAltName alone, as clients
  // check them (RFC 9110, section 4.3.4). Bounded.
  const std::vector<std::string>& names() const { return names_; }
  // The first name, or the file.
  const std::string& title() const { return names_.empty() ? source_ : names_.front(); }
  bool covers(std::string_view host) const;
  Clock::time_point not_before() const { return not_before_; }
  Clock::time_point not_after() const { return not_after_; }
  // SHA-256 of the certificate, as "AB:CD:…".
  std::string fingerprint() const;
  // SHA-256 of its public key in base64, for `curl --pinnedpubkey sha256//…`.
  std::string key_pin() const;
  // The error in the order or the signatures of the chain, or empty.
  std::string chain_fault() const;
  const std::string& ocsp() const { return ocsp_; }

  x509_st* leaf() const { return chain_.front(); }
  const std::vector<x509_st*>& chain() const { return chain_; }
  evp_pkey_st* key() const { return key_; }
  int key_type() const;

 private:
  Certificate() = default;
  void read_facts();

  std::string source_;
  std::vector<x509_st*> chain_;  // the certificate first
  evp_pkey_st* key_ = nullptr;
  std::string ocsp_;
  std::vector<std::string> names_;
  Clock::time_point not_before_{};
  Clock::time_point not_after_{};
};
using CertificatePtr = std::shared_ptr<const Certificate>;

// DNS names, URIs and e-mail addresses of subjectAltName, else the subject's common name. Bounded, printable.
std::vector<std::string> identities_of(x509_st* certificate);
// A reference of its own to a certificate of OpenSSL's.
std::shared_ptr<x509_st> shared_certificate(x509_st* certificate);
std::chrono::system_clock::time_point not_after_of(const x509_st* certificate);

// Does the name of a certificate ("*.example.com" means one label) cover this host? Both in lower case.
bool name_covers(std::string_view name, std::string_view host);

}  // namespace lineward::net

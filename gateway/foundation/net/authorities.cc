#include "foundation/net/authorities.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace lineward::net {
namespace {

// The order matters: some distributions have links under the names of others.
constexpr std::array<const char*, 5> kBundles{{
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine, Arch, distroless
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, Red Hat
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older Red Hat
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // Alpine without ca-certificates
}};

bool is_filled_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) > 0 &&
         !error;
}

bool is_filled_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator first(path, error);
  return !error && first != std::filesystem::directory_iterator();
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string bundle_elsewhere(const std::string& root) {
  if (is_filled_file(root + X509_get_default_cert_file()) ||
      is_filled_folder(root + X509_get_default_cert_dir()))
    return {};
  for (const char* path : kBundles) {
    if (is_filled_file(root + path)) return root + path;
  }
  return {};
}

void trust_the_machines(ssl_ctx_st* context) {
  SSL_CTX_set_default_verify_paths(context);
  if (!is_set(X509_get_default_cert_file_env()) && !is_set(X509_get_default_cert_dir_env())) {
    const std::string bundle = bundle_elsewhere("");
    if (!bundle.empty()) SSL_CTX_load_verify_locations(context, bundle.c_str(), nullptr);
  }
  ERR_clear_error();  // an unreadable bundle is not trusted, and the handshake fails
}

}  // namespace lineward::net

#include "proxy/upstream/http_client/jwt_signer.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <climits>
#include <memory>

#include "foundation/base/base64url.h"
#include "foundation/base/freed.h"

namespace lineward::upstream {
namespace {

constexpr int kLeastRsaBits = 2048;

struct Signing {
  config::SigningAlgorithm algorithm;
  std::string_view name;
  const EVP_MD* (*digest)();
  std::string_view group;  // of an elliptic curve, OpenSSL's name; empty: RSA
  int half = 0;            // bytes of r and s each, in an elliptic curve's signature
};

constexpr std::array<Signing, 6> kSignings{{
    {config::SigningAlgorithm::es256, "ES256", EVP_sha256, "prime256v1", 32},
    {config::SigningAlgorithm::es384, "ES384", EVP_sha384, "secp384r1", 48},
    {config::SigningAlgorithm::es512, "ES512", EVP_sha512, "secp521r1", 66},
    {config::SigningAlgorithm::rs256, "RS256", EVP_sha256, {}},
    {config::SigningAlgorithm::rs384, "RS384", EVP_sha384, {}},
    {config::SigningAlgorithm::rs512, "RS512", EVP_sha512, {}},
}};

using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

const Signing& signing_of(config::SigningAlgorithm algorithm) {
  for (const Signing& one : kSignings) {
    if (one.algorithm == algorithm) return one;
  }
  return kSignings.front();
}

// Prevents OpenSSL from prompting for a key's password on the terminal.
int never_a_password(char*, int, int, void*) {
  return 0;
}

PrivateKey private_key(std::string_view pem) {
  if (pem.size() > INT_MAX) return nullptr;
  std::unique_ptr<BIO, Freed<BIO_free>> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PrivateKey key(text ? PEM_read_bio_PrivateKey(text.get(), nullptr, never_a_password, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

bool fits(EVP_PKEY* key, const Signing& signing) {
  if (signing.group.empty()) return EVP_PKEY_is_a(key, "RSA") == 1 && EVP_PKEY_get_bits(key) >= kLeastRsaBits;
  std::array<char, 64> group{};
  size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
         std::string_view(group.data(), size) == signing.group;
}

std::string signature_of(EVP_PKEY* key, const Signing& signing, std::string_view text) {
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, signing.digest(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return {};
  }
  std::string out(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                     text.size()) != 1)
    return {};
  out.resize(size);
  return out;
}

// Converts OpenSSL's signature format to r and s side by side (RFC 7518 3.4).
std::string side_by_side(std::string_view der, int half) {
  const auto* from = reinterpret_cast<const unsigned char*>(der.data());
  std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(
      d2i_ECDSA_SIG(nullptr, &from, static_cast<long>(der.size())));
  if (!pair) return {};
  std::string out(2 * static_cast<size_t>(half), '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  bool whole = BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), to, half) == half &&
               BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), to + half, half) == half;
  return whole ? out : std::string();
}

}  // namespace

Result<std::string> signed_token(std::string_view claims, config::SigningAlgorithm algorithm,
                                 std::string_view key) {
  const Signing& signing = signing_of(algorithm);
  PrivateKey secret = private_key(key);
  if (!secret) return fail("the private key is none in PEM that needs no password");
  if (!fits(secret.get(), signing)) return fail(fmt::format("the private key is none for {}", signing.name));
  std::string token =
      to_base64url(fmt::format(R"({{"alg":"{}","typ":"JWT"}})", signing.name)) + '.' + to_base64url(claims);
  std::string signature = signature_of(secret.get(), signing, token);
  if (signing.half > 0) signature = side_by_side(signature, signing.half);
  ERR_clear_error();
  if (signature.empty()) return fail(fmt::format("the private key signs nothing with {}", signing.name));
  return token + '.' + to_base64url(signature);
}

}  // namespace lineward::upstream

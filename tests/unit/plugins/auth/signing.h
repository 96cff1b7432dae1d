// An issuer of the test's own: keys of every kind, their JWKs, and tokens signed with them.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/freed.h"

namespace lineward::test {

inline std::string encode(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (unsigned char c : bytes) {
    bits = (bits << 8) | c;
    for (count += 8; count >= 6; count -= 6)
      out += kLetters[(bits >> (count - 6)) & 63];
    bits &= (1u << count) - 1;
  }
  if (count > 0) out += kLetters[(bits << (6 - count)) & 63];
  return out;
}

class SigningKey {
 public:
  static SigningKey rsa(std::string kid, unsigned bits = 2048) {
    return {std::move(kid), EVP_RSA_gen(bits), "RSA", "", 0};
  }
  static SigningKey ec(std::string kid, const std::string& curve, size_t size) {
    return {std::move(kid), EVP_EC_gen(curve.c_str()), "EC", curve, size};
  }
  static SigningKey ed25519(std::string kid) {
    return {std::move(kid), EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), "OKP", "Ed25519", 32};
  }

  // `more`: further members, such as ,"use":"sig"
  std::string jwk(const std::string& more = {}) const {
    std::string out = "{\"kty\":\"" + type_ + "\",\"kid\":\"" + kid_ + "\"" + more;
    if (type_ == "RSA") return out + member("n", number("n")) + member("e", number("e")) + "}";
    out += ",\"crv\":\"" + curve_ + "\"";
    if (type_ == "OKP") {
      std::string x(32, '\0');
      size_t size = x.size();
      EVP_PKEY_get_raw_public_key(key_.get(), bytes(x), &size);
      return out + member("x", x) + "}";
    }
    std::string point(1 + 2 * size_, '\0');
    size_t size = 0;
    REQUIRE(EVP_PKEY_get_octet_string_param(key_.get(), OSSL_PKEY_PARAM_PUB_KEY, bytes(point), point.size(),
                                            &size) == 1);
    return out + member("x", point.substr(1, size_)) + member("y", point.substr(1 + size_, size_)) + "}";
  }

  std::string sign(std::string_view alg, const std::string& text) const {
    const EVP_MD* digest = alg.substr(2) == "256"   ? EVP_sha256()
                           : alg.substr(2) == "384" ? EVP_sha384()
                                                    : EVP_sha512();
    std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* options = nullptr;
    REQUIRE(EVP_DigestSignInit(context.get(), &options, type_ == "OKP" ? nullptr : digest, nullptr,
                               key_.get()) == 1);
    if (alg[0] == 'P') {
      EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST);
    }
    std::string out(1024, '\0');
    size_t size = out.size();
    REQUIRE(EVP_DigestSign(context.get(), bytes(out), &size, bytes(text), text.size()) == 1);
    out.resize(size);
    return type_ == "EC" ? flat(out) : out;
  }

  // header and payload are JSON texts
  std::string token(std::string_view alg, const std::string& header, const std::string& payload) const {
    std::string text = encode(header) + "." + encode(payload);
    return text + "." + encode(sign(alg, text));
  }

 private:
  SigningKey(std::string kid, EVP_PKEY* key, std::string type, std::string curve, size_t size)
      : kid_(std::move(kid)),
        key_(key, EVP_PKEY_free),
        type_(std::move(type)),
        curve_(std::move(curve)),
        size_(size) {
    REQUIRE(key != nullptr);
  }
  static unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
  static const unsigned char* bytes(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  static std::string member(const char* name, const std::string& value) {
    return ",\"" + std::string(name) + "\":\"" + encode(value) + "\"";
  }
  std::string number(const char* name) const {
    BIGNUM* value = nullptr;
    REQUIRE(EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1);
    std::string out(static_cast<size_t>(BN_num_bytes(value)), '\0');
    BN_bn2bin(value, bytes(out));
    BN_free(value);
    return out;
  }
  std::string flat(const std::string& der) const {
    const unsigned char* at = bytes(der);
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string out(2 * size_, '\0');
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes(out), static_cast<int>(size_));
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), bytes(out) + size_, static_cast<int>(size_));
    ECDSA_SIG_free(pair);
    return out;
  }

  std::string kid_;
  std::shared_ptr<EVP_PKEY> key_;
  std::string type_, curve_;
  size_t size_;
};

}  // namespace lineward::test

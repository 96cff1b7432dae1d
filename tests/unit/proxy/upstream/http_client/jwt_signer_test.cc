#include "proxy/upstream/http_client/jwt_signer.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <catch2/catch.hpp>
#include <memory>

#include "foundation/base/base64url.h"
#include "foundation/base/freed.h"

using namespace lineward;
using namespace lineward::upstream;
using config::SigningAlgorithm;

namespace {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

std::string pem_of(const Key& key, const EVP_CIPHER* cipher = nullptr) {
  std::unique_ptr<BIO, Freed<BIO_free>> bio(BIO_new(BIO_s_mem()));
  const char* password = "secret";
  const int size = cipher == nullptr ? 0 : 6;
  REQUIRE(
      PEM_write_bio_PrivateKey(bio.get(), key.get(), cipher,
                               reinterpret_cast<const unsigned char*>(cipher == nullptr ? nullptr : password),
                               size, nullptr, nullptr) == 1);
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(bytes)};
}

// r and s side by side, checked without what made them.
bool is_signed(const Key& key, const EVP_MD* hash, size_t half, const std::string& token) {
  const size_t dot = token.rfind('.');
  std::string signature = from_base64url(token.substr(dot + 1)).value_or("");
  const std::string text = token.substr(0, dot);
  if (half > 0) {
    if (signature.size() != 2 * half) return false;
    const auto* raw = reinterpret_cast<const unsigned char*>(signature.data());
    std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
    ECDSA_SIG_set0(pair.get(), BN_bin2bn(raw, static_cast<int>(half), nullptr),
                   BN_bin2bn(raw + half, static_cast<int>(half), nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(pair.get(), &der);
    signature.assign(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
  }
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace

TEST_CASE("each algorithm signs with a key that is for it") {
  struct Row {
    SigningAlgorithm algorithm;
    const char* name;
    Key key;
    const EVP_MD* hash;
    size_t half;
  };
  const Row rows[] = {{SigningAlgorithm::es256, "ES256", Key(EVP_EC_gen("P-256")), EVP_sha256(), 32},
                      {SigningAlgorithm::es384, "ES384", Key(EVP_EC_gen("P-384")), EVP_sha384(), 48},
                      {SigningAlgorithm::es512, "ES512", Key(EVP_EC_gen("P-521")), EVP_sha512(), 66},
                      {SigningAlgorithm::rs256, "RS256", Key(EVP_RSA_gen(2048)), EVP_sha256(), 0},
                      {SigningAlgorithm::rs384, "RS384", Key(EVP_RSA_gen(2048)), EVP_sha384(), 0},
                      {SigningAlgorithm::rs512, "RS512", Key(EVP_RSA_gen(2048)), EVP_sha512(), 0}};
  for (const Row& row : rows) {
    INFO(row.name);
    const std::string pem = pem_of(row.key);
    // r and s begin with a byte of nothing once in 256 times: padding is seen in some of these.
    for (int times = row.half > 0 ? 300 : 1; times > 0; --times) {
      auto token = signed_token(R"({"iss":"me"})", row.algorithm, pem);
      REQUIRE(token);
      REQUIRE(is_signed(row.key, row.hash, row.half, *token));
      const size_t first = token->find('.'), second = token->rfind('.');
      CHECK(from_base64url(token->substr(0, first)) ==
            R"({"alg":")" + std::string(row.name) + R"(","typ":"JWT"})");
      CHECK(from_base64url(token->substr(first + 1, second - first - 1)) == R"({"iss":"me"})");
    }
  }
}

TEST_CASE("a key that is for another algorithm is refused by that one's name") {
  const std::string p256 = pem_of(Key(EVP_EC_gen("P-256"))), weak = pem_of(Key(EVP_RSA_gen(1024)));
  CHECK(signed_token("{}", SigningAlgorithm::es384, p256).error().text ==
        "the private key is none for ES384");
  CHECK(signed_token("{}", SigningAlgorithm::rs256, p256).error().text ==
        "the private key is none for RS256");
  CHECK(signed_token("{}", SigningAlgorithm::rs512, weak).error().text ==
        "the private key is none for RS512");
  CHECK_FALSE(signed_token("{}", SigningAlgorithm::es256, weak).has_value());
}

TEST_CASE("what is no key, and a key with a password, is refused without a prompt") {
  const std::string locked = pem_of(Key(EVP_EC_gen("P-256")), EVP_aes_128_cbc());
  for (const std::string& text : {std::string(), std::string("no key"), std::string(70, '\0'), locked}) {
    auto token = signed_token("{}", SigningAlgorithm::es256, text);
    REQUIRE_FALSE(token.has_value());
    CHECK(token.error().text == "the private key is none in PEM that needs no password");
  }
}

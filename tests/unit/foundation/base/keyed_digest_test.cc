// foundation/base/keyed_digest.h and sha256.h, beside OpenSSL's own.
#include "foundation/base/keyed_digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "foundation/base/freed.h"
#include "foundation/base/sha256.h"

using namespace lineward;

namespace {

KeyedDigest by_openssl(const std::string& text, const DigestKey& key) {
  const std::unique_ptr<EVP_MAC, Freed<EVP_MAC_free>> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr));
  const std::unique_ptr<EVP_MAC_CTX, Freed<EVP_MAC_CTX_free>> context(EVP_MAC_CTX_new(mac.get()));
  KeyedDigest out{};
  size_t size = 0;
  REQUIRE(EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), sizeof key,
                       nullptr) == 1);
  REQUIRE(EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(text.data()), text.size()) ==
          1);
  REQUIRE(EVP_MAC_final(context.get(), out.data(), &size, out.size()) == 1);
  REQUIRE(size == out.size());
  return out;
}

}  // namespace

TEST_CASE("a keyed digest is SipHash-2-4 of 128 bits") {
  const DigestKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  CHECK(keyed_digest("", key) == KeyedDigest{0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72,
                                             0x14, 0xc7, 0x55, 0x02, 0x93});
  std::string text;
  for (int i = 0; i < 300; ++i) {
    CHECK(keyed_digest(text, key) == by_openssl(text, key));
    CHECK(keyed_digest(text, {~key[0], key[1]}) != keyed_digest(text, key));
    text += static_cast<char>(i * 7);
  }
}

TEST_CASE("the process has a key of its own") {
  CHECK(keyed_digest("text") == keyed_digest(std::string("text")));
  CHECK(keyed_digest("text") != keyed_digest("text", {0, 0}));
  CHECK(keyed_digest("text") != keyed_digest(std::string_view("text\0", 5)));
}

TEST_CASE("SHA-256 is that of OpenSSL, again and again") {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    Sha256 expected{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), expected.data());
    CHECK(sha256(text) == expected);
    text += static_cast<char>(i);
  }
}

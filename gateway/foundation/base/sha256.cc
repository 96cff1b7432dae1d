#include "foundation/base/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "foundation/base/check.h"
#include "foundation/base/freed.h"

namespace lineward {

Sha256 sha256(std::string_view text) {
  // Fetching an algorithm by name, as SHA256() does, costs more than a short text.
  static EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  Sha256 digest{};
  unsigned length = 0;
  LW_CHECK(EVP_DigestInit_ex2(context.get(), kSha256, nullptr) == 1 &&
           EVP_DigestUpdate(context.get(), text.data(), text.size()) == 1 &&
           EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1);
  return digest;
}

std::string sha256_hex(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : sha256(text)) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace lineward

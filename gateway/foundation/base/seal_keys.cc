#include "foundation/base/seal_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <algorithm>

#include "foundation/base/check.h"
#include "foundation/base/freed.h"

namespace lineward {
namespace {

constexpr size_t kNonce = 12, kTag = 16;
constexpr size_t kMaxLength = 4096;  // characters of one key

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

void derive(std::string_view secret, std::string_view what, std::array<unsigned char, 32>& out) {
  constexpr std::string_view kSalt = "lineward replicas";
  std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  size_t length = out.size();
  LW_CHECK(context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
           EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
           EVP_PKEY_CTX_set1_hkdf_salt(context.get(), bytes(kSalt), static_cast<int>(kSalt.size())) == 1 &&
           EVP_PKEY_CTX_set1_hkdf_key(context.get(), bytes(secret), static_cast<int>(secret.size())) == 1 &&
           EVP_PKEY_CTX_add1_hkdf_info(context.get(), bytes(what), static_cast<int>(what.size())) == 1 &&
           EVP_PKEY_derive(context.get(), out.data(), &length) == 1 && length == out.size());
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  size_t from = line.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return line.substr(from, line.find_last_not_of(kBlank) - from + 1);
}

std::string hmac(const std::array<unsigned char, 32>& key, std::string_view text) {
  std::string out(32, '\0');
  unsigned int length = 0;
  LW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(text), text.size(),
                reinterpret_cast<unsigned char*>(out.data()), &length) != nullptr);
  return out;
}

}  // namespace

Result<std::shared_ptr<const SealKeys>> SealKeys::parse(std::string_view text) {
  std::shared_ptr<SealKeys> made(new SealKeys);
  size_t number = 0;
  while (!text.empty()) {
    ++number;
    size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kShortest || line.size() > kMaxLength) {
      return fail("the key in line " + std::to_string(number) + " has " + std::to_string(line.size()) +
                  " characters; it takes " + std::to_string(kShortest) + " or more");
    }
    if (made->keys_.size() == kMaxKeys)
      return fail("it holds more than " + std::to_string(kMaxKeys) + " keys");
    Key& key = made->keys_.emplace_back();
    derive(line, "seal 1", key.seal);
    derive(line, "mac 1", key.mac);
  }
  if (made->keys_.empty()) return fail("it holds no key");
  return std::shared_ptr<const SealKeys>(std::move(made));
}

SealKeys::~SealKeys() {
  for (Key& key : keys_)
    OPENSSL_cleanse(&key, sizeof key);
}

std::string SealKeys::seal(std::string_view context, std::string_view plain) const {
  std::string out(kNonce + plain.size() + kTag, '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  LW_CHECK(RAND_bytes(to, kNonce) == 1);
  Cipher cipher(EVP_CIPHER_CTX_new());
  int length = 0;
  LW_CHECK(cipher != nullptr &&
           EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, keys_.front().seal.data(), to) == 1 &&
           EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes(context),
                             static_cast<int>(context.size())) == 1 &&
           EVP_EncryptUpdate(cipher.get(), to + kNonce, &length, bytes(plain),
                             static_cast<int>(plain.size())) == 1 &&
           EVP_EncryptFinal_ex(cipher.get(), to + kNonce + plain.size(), &length) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTag, to + kNonce + plain.size()) == 1);
  return out;
}

std::optional<std::string> SealKeys::open(std::string_view context, std::string_view sealed) const {
  if (sealed.size() < kOverhead) return std::nullopt;
  std::string_view text = sealed.substr(kNonce, sealed.size() - kOverhead);
  std::string tag(sealed.substr(sealed.size() - kTag));
  for (const Key& key : keys_) {
    Cipher cipher(EVP_CIPHER_CTX_new());
    std::string out(text.size(), '\0');
    auto* to = reinterpret_cast<unsigned char*>(out.data());
    int length = 0;
    LW_CHECK(cipher != nullptr);
    bool good =
        EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.seal.data(), bytes(sealed)) == 1 &&
        EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes(context), static_cast<int>(context.size())) ==
            1 &&
        EVP_DecryptUpdate(cipher.get(), to, &length, bytes(text), static_cast<int>(text.size())) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1;
    std::array<unsigned char, kTag> rest{};
    if (good && EVP_DecryptFinal_ex(cipher.get(), rest.data(), &length) == 1) return out;
  }
  return std::nullopt;
}

std::string SealKeys::mac(std::string_view text) const {
  return hmac(keys_.front().mac, text);
}

bool SealKeys::is_mac(std::string_view text, std::string_view mac) const {
  if (mac.size() < kTag || mac.size() > 32) return false;
  bool good = false;
  for (const Key& key : keys_) {
    std::string made = hmac(key.mac, text);
    good = CRYPTO_memcmp(made.data(), mac.data(), mac.size()) == 0 || good;
  }
  return good;
}

std::vector<std::array<unsigned char, 32>> SealKeys::derived(std::string_view purpose) const {
  std::vector<std::array<unsigned char, 32>> out;
  for (const Key& key : keys_) {
    std::string made = hmac(key.mac, joined_parts({"derived", purpose}));
    std::copy(made.begin(), made.end(), out.emplace_back().begin());
  }
  return out;
}

std::string replica_tag(std::string_view name) {
  std::string text = "lineward replica " + std::string(name);
  std::array<unsigned char, 32> digest{};
  LW_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(digest.data()), 8);
}

std::string joined_parts(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) {
    out += std::to_string(part.size());
    out += ':';
    out += part;
  }
  return out;
}

}  // namespace lineward

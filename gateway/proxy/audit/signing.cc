#include "proxy/audit/signing.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>

#include "foundation/base/check.h"
#include "foundation/base/freed.h"
#include "foundation/base/regular_file.h"
#include "proxy/audit/hash_chain.h"

namespace lineward::audit {
namespace {

constexpr size_t kSignatureBytes = 64;
constexpr std::string_view kDigits = "0123456789abcdef";

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string signed_text(uint64_t seq, std::string_view prev, std::string_view end) {
  std::string text = fmt::format("lineward audit checkpoint\n{}\n{}\n", seq, prev);
  if (!end.empty()) text += fmt::format("{}\n", end);
  return text;
}

std::string hex(const unsigned char* data, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[data[i] >> 4];
    out += kDigits[data[i] & 15];
  }
  return out;
}

// Empty if it is not hexadecimal.
std::string unhex(std::string_view text) {
  std::string out;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

// Prevents OpenSSL from asking for the passphrase on the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

using Reader = EVP_PKEY* (*)(BIO*);
constexpr size_t kMaxFile = 64 * 1024;

Result<std::shared_ptr<EVP_PKEY>> read_key(const std::string& path, Reader reader, const char* what) {
  auto text = read_regular_file(path, kMaxFile);
  if (!text) return fail(fmt::format("cannot read {}: {}", path, text.error().text));
  std::unique_ptr<BIO, Freed<BIO_free>> file(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  std::shared_ptr<EVP_PKEY> key(file ? reader(file.get()) : nullptr, EVP_PKEY_free);
  OPENSSL_cleanse(text->data(), text->size());
  if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519)
    return fail(fmt::format("{} holds no {} of Ed25519 in PEM", path, what));
  return key;
}

}  // namespace

SigningKey::SigningKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {
  std::array<unsigned char, 32> raw{};
  size_t size = raw.size();
  LW_CHECK(EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &size) == 1);
  id_ = sha256_hex({reinterpret_cast<const char*>(raw.data()), size}).substr(0, 16);
}

Result<SigningKey> SigningKey::read_private(const std::string& path) {
  auto key = read_key(
      path, [](BIO* file) { return PEM_read_bio_PrivateKey(file, nullptr, no_password, nullptr); },
      "private key");
  if (!key) return Unexpected<Error>{key.error()};
  return SigningKey(std::move(*key));
}

Result<SigningKey> SigningKey::read_public(const std::string& path) {
  auto key = read_key(
      path, [](BIO* file) { return PEM_read_bio_PUBKEY(file, nullptr, no_password, nullptr); }, "public key");
  if (key) return SigningKey(std::move(*key));
  auto both = read_private(path);
  return both ? std::move(both) : Result<SigningKey>(Unexpected<Error>{key.error()});
}

std::string SigningKey::sign(uint64_t seq, std::string_view prev, std::string_view end) const {
  const std::string text = signed_text(seq, prev, end);
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  size_t size = signature.size();
  LW_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
           EVP_DigestSign(context.get(), signature.data(), &size, bytes(text), text.size()) == 1);
  return hex(signature.data(), size);
}

bool SigningKey::has_signed(uint64_t seq, std::string_view prev, std::string_view end,
                            std::string_view signature) const {
  const std::string text = signed_text(seq, prev, end);
  const std::string raw = unhex(signature);
  if (raw.size() != kSignatureBytes) return false;
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(raw), raw.size(), bytes(text), text.size()) == 1;
}

}  // namespace lineward::audit

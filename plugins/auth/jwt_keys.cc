#include "plugins/auth/jwt_keys.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>

#include "foundation/base/freed.h"
#include "plugins/auth/jwt_token.h"
#include "plugins/auth/strict_json.h"

namespace lineward::plugins {

enum Family : uint8_t { rsa, p256, p384, p521, ed25519 };

struct JwtAlgorithm {
  std::string_view name;
  Family family;
  const EVP_MD* (*digest)();  // null: part of the algorithm
  bool pss;
  size_t half;  // size of r and of s in an elliptic-curve signature
};

namespace {

using nlohmann::json;

constexpr std::array<JwtAlgorithm, 11> kAlgorithms{{
    {"RS256", rsa, EVP_sha256, false, 0},
    {"RS384", rsa, EVP_sha384, false, 0},
    {"RS512", rsa, EVP_sha512, false, 0},
    {"PS256", rsa, EVP_sha256, true, 0},
    {"PS384", rsa, EVP_sha384, true, 0},
    {"PS512", rsa, EVP_sha512, true, 0},
    {"ES256", p256, EVP_sha256, false, 32},
    {"ES384", p384, EVP_sha384, false, 48},
    {"ES512", p521, EVP_sha512, false, 66},
    {"EdDSA", ed25519, nullptr, false, 0},
    {"Ed25519", ed25519, nullptr, false, 0},  // RFC 9864
}};

constexpr size_t kMaxKeys = 100;
constexpr int kLeastRsaBits = 2048, kMaxRsaBits = 8192, kMaxExponentBits = 64;

using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

std::string text_of(const json& key, const char* name) {
  auto found = key.find(name);
  return found != key.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string bytes_of(const json& key, const char* name) {
  return base64url(text_of(key, name)).value_or("");
}

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(raw(bytes), static_cast<int>(bytes.size()), nullptr));
}

KeyPtr build(const char* type, OSSL_PARAM_BLD* builder) {
  Params params(OSSL_PARAM_BLD_to_param(builder));
  KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  bool made = params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
              EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  return KeyPtr(made ? key : nullptr);
}

KeyPtr rsa_key(const json& jwk) {
  std::string n = bytes_of(jwk, "n"), e = bytes_of(jwk, "e");
  if (n.empty() || e.empty() || n.size() > kMaxRsaBits / 8 + 1) return nullptr;
  Number modulus = number_of(n), exponent = number_of(e);
  Builder builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder) return nullptr;
  int bits = BN_num_bits(modulus.get());
  bool sound = bits >= kLeastRsaBits && bits <= kMaxRsaBits && BN_is_odd(modulus.get()) == 1 &&
               BN_is_odd(exponent.get()) == 1 && BN_is_one(exponent.get()) == 0 &&
               BN_num_bits(exponent.get()) <= kMaxExponentBits;
  if (!sound || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return nullptr;
  }
  return build("RSA", builder.get());
}

KeyPtr curve_key(const json& jwk, const char* group, size_t size) {
  std::string x = bytes_of(jwk, "x"), y = bytes_of(jwk, "y");
  if (x.size() != size || y.size() != size) return nullptr;
  std::string point = "\x04" + x + y;
  Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1) {
    return nullptr;
  }
  KeyPtr key = build("EC", builder.get());
  if (!key) return nullptr;
  KeyContext check(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  return check && EVP_PKEY_public_check(check.get()) == 1 ? std::move(key) : nullptr;
}

// The key and its family, if it is for verification.
bool read_key(const json& jwk, VerifyKey& out) {
  if (!jwk.is_object()) return false;
  if (jwk.contains("use") && text_of(jwk, "use") != "sig") return false;
  auto uses = jwk.find("key_ops");
  if (uses != jwk.end() &&
      (!uses->is_array() || std::find(uses->begin(), uses->end(), json("verify")) == uses->end())) {
    return false;
  }
  out.kid = text_of(jwk, "kid");
  out.alg = text_of(jwk, "alg");
  std::string type = text_of(jwk, "kty"), curve = text_of(jwk, "crv");
  if (type == "RSA") {
    out.family = rsa;
    out.key = rsa_key(jwk);
  } else if (type == "EC" && curve == "P-256") {
    out.family = p256;
    out.key = curve_key(jwk, "P-256", 32);
  } else if (type == "EC" && curve == "P-384") {
    out.family = p384;
    out.key = curve_key(jwk, "P-384", 48);
  } else if (type == "EC" && curve == "P-521") {
    out.family = p521;
    out.key = curve_key(jwk, "P-521", 66);
  } else if (type == "OKP" && curve == "Ed25519") {
    std::string x = bytes_of(jwk, "x");
    out.family = ed25519;
    if (x.size() == 32)
      out.key.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(x), x.size()));
  }
  return out.key != nullptr;
}

// Converts r and s to OpenSSL's DER form (RFC 7518, section 3.4).
std::string der_signature(std::string_view signature, size_t half) {
  if (signature.size() != 2 * half) return {};
  std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  Number r = number_of(signature.substr(0, half)), s = number_of(signature.substr(half));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  r.release();
  s.release();
  int size = i2d_ECDSA_SIG(pair.get(), nullptr);
  if (size <= 0) return {};
  std::string out(static_cast<size_t>(size), '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  i2d_ECDSA_SIG(pair.get(), &to);
  return out;
}

}  // namespace

void FreeKey::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}

const JwtAlgorithm* find_algorithm(std::string_view name) {
  auto found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                            [&](const JwtAlgorithm& one) { return one.name == name; });
  return found == kAlgorithms.end() ? nullptr : &*found;
}

Result<std::shared_ptr<const KeySet>> KeySet::parse(std::string_view text) {
  auto document = strict_object(text);
  if (!document) return fail("it is no JSON object");
  auto list = document->find("keys");
  if (list == document->end() || !list->is_array()) return fail("it has no list of keys");
  if (list->size() > kMaxKeys) return fail(fmt::format("it has more than {} keys", kMaxKeys));
  auto set = std::make_shared<KeySet>();
  for (const json& jwk : *list) {
    VerifyKey key;
    if (read_key(jwk, key)) set->keys_.push_back(std::move(key));
  }
  if (set->keys_.empty())
    return fail(
        "none of its keys can check signatures (RSA from 2048 bits on, P-256, P-384, P-521, Ed25519)");
  return std::shared_ptr<const KeySet>(std::move(set));
}

bool KeySet::has(const std::string& kid) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const VerifyKey& key) { return key.kid == kid; });
}

std::vector<const VerifyKey*> KeySet::find(const std::string* kid, const JwtAlgorithm& algorithm) const {
  std::vector<const VerifyKey*> out;
  for (const VerifyKey& key : keys_) {
    bool fits = key.family == algorithm.family && (key.alg.empty() || key.alg == algorithm.name);
    if (fits && (kid == nullptr || key.kid == *kid)) out.push_back(&key);
  }
  return out;
}

bool verify(const JwtAlgorithm& algorithm, const VerifyKey& key, std::string_view signed_part,
            std::string_view signature) {
  std::string der;
  if (algorithm.half > 0) {
    der = der_signature(signature, algorithm.half);
    if (der.empty()) return false;
    signature = der;
  }
  Digest digest(EVP_MD_CTX_new());
  EVP_PKEY_CTX* context = nullptr;
  const EVP_MD* hash = algorithm.digest == nullptr ? nullptr : algorithm.digest();
  if (!digest || EVP_DigestVerifyInit(digest.get(), &context, hash, nullptr, key.key.get()) != 1)
    return false;
  if (algorithm.pss && (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) != 1 ||
                        EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) != 1)) {
    return false;
  }
  return EVP_DigestVerify(digest.get(), raw(signature), signature.size(), raw(signed_part),
                          signed_part.size()) == 1;
}

}  // namespace lineward::plugins

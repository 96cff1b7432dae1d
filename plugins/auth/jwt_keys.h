// Public keys of a JSON Web Key Set (RFC 7517, 7518, 8037), and verification of signatures. Implemented on
// OpenSSL's EVP interface: packaged JWT libraries support no key sets, no PS* and no EdDSA.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

struct evp_pkey_st;

namespace lineward::plugins {

// RS256 … EdDSA. Null for all others: `none`, HS*, and misspelt names.
struct JwtAlgorithm;
const JwtAlgorithm* find_algorithm(std::string_view name);

struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};

struct VerifyKey {
  std::string kid;  // empty: it has none
  std::string alg;  // its only algorithm; empty: all that fit its type
  int family = 0;   // of JwtAlgorithm
  std::unique_ptr<evp_pkey_st, FreeKey> key;
};

class KeySet {
 public:
  // Skips keys that are not for verification, of unknown types, or too weak. Fails if no key remains.
  static Result<std::shared_ptr<const KeySet>> parse(std::string_view json);

  size_t size() const { return keys_.size(); }
  bool has(const std::string& kid) const;
  // The keys that a token with this `kid` (null: without) and algorithm may be signed with.
  std::vector<const VerifyKey*> find(const std::string* kid, const JwtAlgorithm& algorithm) const;

 private:
  std::vector<VerifyKey> keys_;
};

bool verify(const JwtAlgorithm& algorithm, const VerifyKey& key, std::string_view signed_part,
            std::string_view signature);

}  // namespace lineward::plugins

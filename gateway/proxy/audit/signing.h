// Signatures of checkpoints: Ed25519, over the number of the checkpoint and the hash of the record before it,
// and so over the whole preceding chain. The last checkpoint of a process signs a different text. Otherwise
// an attacker could cut a log off behind any checkpoint and forge the closing record.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

struct evp_pkey_st;

namespace lineward::audit {

// A private key signs and verifies, a public one verifies. Errors name the file, never its content.
class SigningKey {
 public:
  // PEM of an Ed25519 private key.
  static Result<SigningKey> read_private(const std::string& path);
  // PEM of a public key, or of the private key.
  static Result<SigningKey> read_public(const std::string& path);

  // The first 16 hexadecimal digits of the SHA-256 of the public key; identifies the key.
  const std::string& id() const { return id_; }
  // 128 hexadecimal digits. `end`: the reason why the log ends with the record behind the checkpoint; empty:
  // it continues.
  std::string sign(uint64_t seq, std::string_view prev, std::string_view end) const;
  bool has_signed(uint64_t seq, std::string_view prev, std::string_view end,
                  std::string_view signature) const;

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
};

}  // namespace lineward::audit

// Signatures of checkpoints: Ed25519, over the number of the checkpoint and the hash of the record before
// it, and so over the whole chain up to there. The last one of a process is told from the others by what is
// signed, too: else whoever cuts a log off behind any of them could write the closing record himself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_pkey_st;

namespace lineward::audit {

// A private key signs and checks, a public one checks. Errors name the file, never what is in it.
class SigningKey {
 public:
  // PEM of an Ed25519 private key.
  static Result<SigningKey> read_private(const std::string& path);
  // PEM of its public key; that of the private key is taken too.
  static Result<SigningKey> read_public(const std::string& path);

  // The first 16 hexadecimal digits of the SHA-256 of the public key: which one has signed.
  const std::string& id() const { return id_; }
  // 128 hexadecimal digits. `end`: why the log ends with the record behind the checkpoint; empty: it goes on.
  std::string sign(uint64_t seq, std::string_view prev, std::string_view end) const;
  bool has_signed(uint64_t seq, std::string_view prev, std::string_view end,
                  std::string_view signature) const;

 private:
  explicit SigningKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
};

}  // namespace lineward::audit

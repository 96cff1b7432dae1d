#include "unit/proxy/audit/audit_folder.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <memory>

#include "foundation/base/freed.h"

namespace lineward::audit {

void make_key(const std::string& path) {
  std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  REQUIRE(key);
  std::unique_ptr<FILE, Freed<std::fclose>> both(std::fopen(path.c_str(), "we"));
  REQUIRE(PEM_write_PrivateKey(both.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  std::unique_ptr<FILE, Freed<std::fclose>> open(std::fopen((path + ".pub").c_str(), "we"));
  REQUIRE(PEM_write_PUBKEY(open.get(), key.get()) == 1);
}

}  // namespace lineward::audit

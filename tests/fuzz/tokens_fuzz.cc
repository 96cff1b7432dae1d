// Credentials of clients, and documents of issuers: access tokens, their claims, key sets, files of keys.
// No input may cause a crash, and accepted ones must be within their bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "plugins/auth/jwt_keys.h"
#include "plugins/auth/jwt_token.h"
#include "plugins/auth/key_file.h"

using namespace lineward;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0: {
      auto token = plugins::read_token(text);
      if (token) LW_CHECK(text.compare(0, token->signed_part.size(), token->signed_part) == 0);
      break;
    }
    case 1: {
      auto claims = plugins::read_claims(text);
      if (!claims) break;
      LW_CHECK(!claims->subject.empty() && claims->subject.size() <= 256);
      LW_CHECK(claims->subject.find('\n') == std::string::npos);
      LW_CHECK(std::isfinite(claims->expires) && claims->expires >= 0);
      break;
    }
    case 2:
      if (auto keys = plugins::KeySet::parse(text)) LW_CHECK((*keys)->size() > 0);
      break;
    case 3:
      if (auto keys = plugins::read_keys(text)) {
        for (const plugins::HashedKey& key : *keys)
          LW_CHECK(plugins::is_key_name(key.name));
      }
      break;
  }
  return 0;
}

#include "proxy/upstream/http_client/basic_credentials.h"

#include <openssl/evp.h>

namespace lineward::upstream {

std::string basic_credentials(std::string_view credentials) {
  constexpr std::string_view kScheme = "Basic ";
  std::string out(kScheme.size() + (credentials.size() + 2) / 3 * 4 + 1, '\0');
  out.replace(0, kScheme.size(), kScheme);
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data() + kScheme.size()),
                                     reinterpret_cast<const unsigned char*>(credentials.data()),
                                     static_cast<int>(credentials.size()));
  out.resize(kScheme.size() + static_cast<size_t>(length));
  return out;
}

}  // namespace lineward::upstream

// Server texts as people may read them: without the secrets given to the server. Every server text that the
// doctor shows passes through here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "foundation/log/secret_set.h"

namespace lineward::fetch {

class Redactor {
 public:
  // Masks all values of config::given_to().
  explicit Redactor(const config::Server& server);
  explicit Redactor(const std::vector<std::string>& secrets);
  // At most `most` bytes, on one line, printable.
  std::string operator()(std::string_view said, size_t most = 200) const;

 private:
  redaction::SecretSet given_;
};

}  // namespace lineward::fetch

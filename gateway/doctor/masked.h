// What a server says, as people may read it: without what it was given in confidence. Every text of a server
// that the doctor shows comes out of here.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"
#include "log/secret_set.h"

namespace lineward::doctor {

class Masked {
 public:
  // All that config::given_to() knows.
  explicit Masked(const config::Server& server);
  // At most so many bytes of it, on one line, printable.
  std::string operator()(std::string_view said, size_t most = 200) const;

 private:
  redaction::SecretSet given_;
};

}  // namespace lineward::doctor

// What a server says, as people may read it: without what it was given in confidence. Every text of a server
// that the doctor shows comes out of here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::doctor {

class Masked {
 public:
  // The values of its env and headers, the part of a header behind its scheme, and the password of its proxy.
  explicit Masked(const config::Server& server);
  // At most so many bytes of it, on one line, printable.
  std::string operator()(std::string_view said, size_t most = 200) const;

 private:
  void add(std::string_view secret);

  std::vector<std::string> secrets_;  // the longest first: one may be a part of another
};

}  // namespace lineward::doctor

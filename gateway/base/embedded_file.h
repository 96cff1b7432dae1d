// A file of the source tree that is in the binary too, as it stands there (conf/scripts/embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace lineward {

struct EmbeddedFile {
  std::string_view name;  // without its folder
  std::string_view text;
};

}  // namespace lineward

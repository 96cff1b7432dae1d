#include "operate/cli/local_address.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lineward::cli {

std::string reachable(std::string url) {
  for (auto [any, local] :
       {std::pair("//0.0.0.0:", "//127.0.0.1:"), {"//[::]:", "//127.0.0.1:"}, {"//:::", "//127.0.0.1:"}}) {
    const size_t at = url.find(any);
    if (at != std::string::npos) return url.replace(at, std::string_view(any).size(), local);
  }
  if (url.rfind("unix:", 0) == 0) std::replace(url.begin(), url.end(), '#', ':');
  return url;
}

}  // namespace lineward::cli

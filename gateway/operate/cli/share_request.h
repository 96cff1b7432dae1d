// `lineward stdio --share`: what the command line and its configuration were made of. Two clients share a
// gateway only if it is equal (operate/share/share_key.h). Secrets among it: for a digest alone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lineward::cli {

struct ShareRequest {
  std::chrono::milliseconds linger{0};
  std::vector<std::pair<std::string, std::string>> words;       // flags and the command
  std::vector<std::pair<std::string, std::string>> files;       // path and content
  std::vector<std::string> named;                               // paths of files that options of plugins name
  std::map<std::string, std::optional<std::string>> looked_up;  // variables of the environment
};

}  // namespace lineward::cli

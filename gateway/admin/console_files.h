// The console's files as they are in the binary: gateway/admin/console, put there by its embed.cmake.
#pragma once

#include <string_view>
#include <vector>

namespace lineward::admin {

struct ConsoleFile {
  std::string_view name;  // "app.css"
  std::string_view type;  // as Content-Type says it
  std::string_view text;
};

const std::vector<ConsoleFile>& console_files();

}  // namespace lineward::admin

// Any bytes as a configuration: never a crash, every finding inside the text, and never a failure without a
// finding. The first byte chooses YAML or JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/reader/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  lineward::config::LoadOptions options;
  options.read_files = false;
  // YAML ends a line at a lone CR too.
  auto breaks = std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r');
  auto lines = static_cast<int>(breaks) + 2;
  auto result = lineward::config::load_text(text, data[0] % 2 == 0 ? "fuzz.yaml" : "fuzz.json", options);
  for (const auto& diagnostic : result.diagnostics) {
    bool inside =
        diagnostic.line >= 0 && diagnostic.line <= lines && diagnostic.column >= 0 && diagnostic.length >= 1;
    if (!inside || diagnostic.code.empty() || diagnostic.message.empty()) std::abort();
  }
  if (result.report(false).empty()) std::abort();
  return 0;
}

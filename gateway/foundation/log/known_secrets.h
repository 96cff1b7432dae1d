// The secret values of the configuration, and their positions in a text. Redaction removes them from every
// text that is shown (redaction.h).
//
// From any thread. The newest values of earlier configurations stay: a server started with them may still
// write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::redaction {

class KnownSecrets {
 public:
  // Shorter values are ordinary words: hiding them would hide harmless text.
  static constexpr size_t kShortest = 6;
  // Number of values kept from earlier configurations.
  static constexpr size_t kMostFormer = 1000;

  // Adds `values` to those hidden from now on.
  static void use(const std::vector<std::string>& values);
  static bool any();
  static bool stand_in(std::string_view text);
  // Replaces each value by "…".
  static std::string hide(std::string_view text);
};

}  // namespace lineward::redaction

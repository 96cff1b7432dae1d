// The values that the configuration keeps secret, and where they stand in a text. Redaction takes them out of
// every text that is shown (redaction.h).
//
// From any thread. The values of the configurations before stay, the newest of them: a server that was
// started with them may still say them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::redaction {

class KnownSecrets {
 public:
  // Shorter ones are words: hiding them would hide what is no secret.
  static constexpr size_t kShortest = 6;
  // Of configurations before this one.
  static constexpr size_t kMostFormer = 1000;

  // From here on these are hidden as well.
  static void use(const std::vector<std::string>& values);
  static bool any();
  static bool stand_in(std::string_view text);
  // "…" in the place of each.
  static std::string hide(std::string_view text);
};

}  // namespace lineward::redaction

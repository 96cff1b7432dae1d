// The secrets that the configuration holds, and their way out of what the admin API says: whoever may look at
// a gateway is not told its servers' keys because one of them wrote its own on stderr. A known value is
// hidden wherever it stands in a text; keys of JSON stay.
//
// From any thread; a reload gives it the new values.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace lineward::admin {

class KnownSecrets {
 public:
  // Shorter ones are words: hiding them would hide what is no secret.
  static constexpr size_t kShortest = 6;

  void use(const config::Config& config);
  std::string hide(std::string text) const;
  // In every string of it.
  void hide(nlohmann::json& value) const;

 private:
  bool hide_in(std::string& text) const;

  mutable std::mutex mutex_;
  std::vector<std::string> values_;  // the longest first
};

}  // namespace lineward::admin
